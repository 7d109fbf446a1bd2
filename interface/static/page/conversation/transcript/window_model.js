import { isUnkept } from '../message_model.js';

const isNumbered = (message) => !isUnkept(message) && !message.isGone;

/**
 * The part of a conversation that the page holds: a run of messages in order, extended at both ends and bounded.
 *
 * Messages have the shape of the list route. They are plain objects; `message_index` is 1-based among the live ones. What is
 * not kept stands among them, and counts for nothing once the server has forgotten it; so does what `isGone`: deleted elsewhere while
 * somebody changed it here.
 */
export class TranscriptWindow {
  /** @param {{limit?: number}} [options] how many messages are held at most */
  constructor({ limit = 200 } = {}) {
    this.limit = limit;
    this.clear();
  }

  clear() {
    this.messages = [];
    this.atStart = true;
    this.atEnd = true;
  }

  /** The first that the server keeps. */
  get first() {
    return this.messages.find(isNumbered) ?? null;
  }

  /** The last that the server keeps. */
  get last() {
    return this.messages.findLast(isNumbered) ?? null;
  }

  get nextIndex() {
    return (this.last?.message_index ?? 0) + 1;
  }

  /** @param {string} messageId */
  find(messageId) {
    return this.messages.find((message) => message.message_id === messageId) ?? null;
  }

  /**
   * Starts afresh from the messages of one answer of the server.
   *
   * @param {object[]} messages
   * @param {{atEnd: boolean}} options whether the last of them is the newest there is
   */
  replace(messages, { atEnd }) {
    this.messages = [...messages];
    this.atStart = this.#beginsAtFirst();
    this.atEnd = atEnd;
  }

  /**
   * `replace`, with what the server has forgotten staying behind what it stood behind.
   *
   * @param {object[]} messages
   * @param {{atEnd: boolean, stays?: (message: object) => boolean}} options `stays`: it is shown on though it was deleted, and `isGone`
   */
  refresh(messages, { atEnd, stays = () => false }) {
    const { messages: shown } = this;
    this.replace(messages, { atEnd });
    const end = atEnd ? Infinity : this.messages.at(-1)?.message_index ?? 0;
    let place = 0;
    for (const message of shown) {
      const known = this.messages.findIndex(({ message_id: id }) => id === message.message_id);
      if (known >= 0) place = known + 1;
      else if (isUnkept(message) || (message.message_index <= end && stays(message))) {
        this.messages.splice(place, 0, isUnkept(message) ? message : { ...message, isGone: true });
        place += 1;
      }
    }
  }

  /** @param {object[]} messages those before the first, in order; none when there are none */
  addOlder(messages) {
    this.messages = [...this.#unknown(messages), ...this.messages];
    this.atStart = messages.length === 0 || this.#beginsAtFirst();
    if (this.messages.length <= this.limit) return;
    this.messages.length = this.limit;
    this.atEnd = false;
  }

  /**
   * @param {object[]} messages those after the last, in order
   * @param {{atEnd: boolean}} options
   */
  addNewer(messages, { atEnd }) {
    this.messages = [...this.messages, ...this.#unknown(messages)];
    this.atEnd = atEnd;
    this.#dropOldest();
  }

  /** Puts messages at the end that the server has not numbered yet. */
  push(...messages) {
    this.messages.push(...messages);
    this.#dropOldest();
  }

  /** Takes away a message and all behind it: the conversation goes on another way from there. */
  cutFrom(messageId) {
    const place = this.messages.findIndex((message) => message.message_id === messageId);
    if (place < 0) return;
    this.messages = this.messages.slice(0, place);
    this.atEnd = true;
  }

  /** @param {(message: object) => boolean} unwanted */
  remove(unwanted) {
    this.messages = this.messages.filter((message) => !unwanted(message));
  }

  #dropOldest() {
    if (this.messages.length <= this.limit) return;
    this.messages = this.messages.slice(-this.limit);
    this.atStart = false;
  }

  #beginsAtFirst() {
    return this.messages.length === 0 || this.messages[0].message_index <= 1;
  }

  #unknown(messages) {
    const known = new Set(this.messages.map((message) => message.message_id));
    return messages.filter((message) => !known.has(message.message_id));
  }
}
