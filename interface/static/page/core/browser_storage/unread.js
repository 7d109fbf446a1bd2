/**
 * Which conversations have an answer that nobody has read in this browser: all its windows know the same, and it outlives a
 * reload.
 *
 * Of each conversation two moments are kept, that of its newest answer and that up to which it was read. Both only grow, so
 * that it does not matter in which order windows write them. The moments are the server's.
 */

import { VIEW } from './kept.js';

const ANSWERED = 'answered:';
const READ = 'read:';
const isMark = (id) => id.startsWith(ANSWERED) || id.startsWith(READ);

export class ReadMarks {
  #kept;

  /** @param {import('./kept.js').Kept} kept */
  constructor(kept) {
    this.#kept = kept;
  }

  /** @param {string} at when an answer of the conversation ended */
  answered(conversationId, at) {
    this.#raise(ANSWERED + conversationId, at);
  }

  /** The conversation is read up to its newest answer. */
  read(conversationId) {
    this.#raise(READ + conversationId, this.#at(ANSWERED, conversationId));
  }

  isUnread(conversationId) {
    return this.#at(ANSWERED, conversationId) > this.#at(READ, conversationId);
  }

  /** The ids of the unread conversations. */
  unread() {
    const answered = this.#kept.all(VIEW).map(([id]) => id).filter((id) => id.startsWith(ANSWERED));
    return answered.map((id) => id.slice(ANSWERED.length)).filter((id) => this.isUnread(id));
  }

  /** Removes the marks of before `at`. */
  forget(at) {
    const old = this.#kept.all(VIEW).filter(([id, moment]) => isMark(id) && moment < at);
    if (old.length > 0) this.#kept.change(old.map(([id]) => [VIEW, id, null]));
  }

  /**
   * Calls `listener` with the id of each conversation that another window has marked.
   *
   * @returns {() => void} stops that
   */
  follow(listener) {
    return this.#kept.follow(({ kind, id, isElsewhere }) => {
      if (kind === VIEW && isElsewhere && isMark(id)) listener(id.slice(id.indexOf(':') + 1));
    });
  }

  #at(which, conversationId) {
    return this.#kept.get(VIEW, which + conversationId) ?? '';
  }

  #raise(id, at) {
    if (at > (this.#kept.get(VIEW, id) ?? '')) this.#kept.set(VIEW, id, at);
  }
}
