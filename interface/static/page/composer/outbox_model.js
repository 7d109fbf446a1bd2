/**
 * Messages on their way to the server. Each is stored in the browser under its `client_message_id` before it is sent, and
 * stays until the server has it. Sent again, by whichever tab, after a lost response or a reload, it is the same message.
 */

import { newId } from '../core/ids.js';

const KIND = 'outbox';
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 10_000;
/** For an answer that another tab shows the end of, or nobody. */
const WHILE_ANSWERING_MS = 2000;
/** These pass when the person does something (logs in, loads the page anew), and not by asking again. */
const NEEDS_THE_PERSON = new Set(['unauthorized', 'other_account', 'page_outdated']);

/**
 * @typedef {object} Entry
 * @property {string} id its `client_message_id`
 * @property {string|null} conversationId null until it has one: then `beginning` names what was opened for it
 * @property {string|null} beginning
 * @property {boolean} isTemporary whether the conversation that it begins is a temporary one
 * @property {string} text as it was typed
 * @property {Array<{name: string, text: string}>} files
 * @property {object[]} attached memories
 * @property {object|null} replyTo the message that it replies to
 * @property {object} fields further fields of the request
 * @property {string} [insteadOf] the message in whose place it is asked
 * @property {number} at when it was written, in milliseconds
 * @property {{code: string, message: string, isRefused: boolean}|null} problem why it is not sent yet; refused: sending it again is no use
 */

/** Runs `job` while no other tab runs one of that name; where the browser has no locks, two tabs may send the same message. */
export function withLock(name, job) {
  return globalThis.navigator?.locks ? navigator.locks.request(`anaphora.outbox.${name}`, job) : job();
}

const placeOf = ({ conversationId, beginning }) => conversationId ?? beginning;

export class Outbox {
  #kept;
  #deliver;
  #isAnswering;
  #mayPass;
  #lock;
  #timers;
  /** What is being sent, by its id: ends its request. */
  #sending = new Map();
  #listeners = new Set();
  #retries = new Map();

  /**
   * @param {object} options
   * @param {import('../core/browser_storage/kept.js').Kept} options.kept
   * @param {(entry: Entry, options: {signal: AbortSignal}) => Promise<void>} options.deliver resolves when the server has the message
   * @param {(conversationId: string) => boolean} options.isAnswering whether an answer is being written there, as far as this tab knows
   * @param {(error: Error) => boolean} options.mayPass whether what went wrong may go well the next time
   */
  constructor({ kept, deliver, isAnswering, mayPass, lock = withLock, timers = globalThis }) {
    this.#kept = kept;
    this.#deliver = deliver;
    this.#isAnswering = isAnswering;
    this.#mayPass = mayPass;
    this.#lock = lock;
    this.#timers = timers;
    // The tab in which it was written may be gone before it is sent.
    kept.follow(({ kind, id, isElsewhere }) => {
      const entry = kind === KIND && isElsewhere ? kept.get(KIND, id) : null;
      if (entry && !entry.problem?.isRefused) this.#sendLater(placeOf(entry), LONGEST_PAUSE_MS);
    });
  }

  /** Calls `listener()` when a message comes, changes or goes, here or in another tab, and when one is tried again here. */
  follow(listener) {
    this.#listeners.add(listener);
    this.#kept.follow(({ kind }) => kind === KIND && listener());
  }

  /** @returns {Entry[]} all, in the order in which they were written */
  get entries() {
    return this.#kept.all(KIND).map(([, entry]) => entry).toSorted((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
  }

  /** @returns {string|undefined} the beginning that the oldest message without a conversation was written for */
  get unsettled() {
    return this.entries.find(({ conversationId }) => conversationId === null)?.beginning;
  }

  /** @param {string} place a conversation, or the beginning of one */
  of(place) {
    return this.entries.filter((entry) => placeOf(entry) === place);
  }

  /** @returns {'sending'|'retrying'|'queued'|'delayed'|'refused'} how it stands with a message */
  stateOf(entry) {
    if (entry.problem?.isRefused) return 'refused';
    if (entry.problem?.code === 'turn_in_progress' || this.#waits(entry)) return 'queued';
    if (!entry.problem) return 'sending';
    return this.#sending.has(entry.id) ? 'retrying' : 'delayed';
  }

  /** Whether its request is under way: cut off now, the server may have it all the same. */
  isSending({ id }) {
    return this.#sending.has(id);
  }

  /**
   * Stores a message, then sends it when its turn comes.
   *
   * @param {Omit<Entry, 'id'|'at'|'problem'> & {id?: string}} message
   * @param {Array<[string, string, any]>} also what changes with it: the draft that it was
   */
  async add(message, also = []) {
    const entry = { ...message, id: message.id ?? newId(), at: this.#nextTime(), problem: null };
    await this.#kept.change([[KIND, entry.id, entry], ...also]);
    return this.send(placeOf(entry));
  }

  /** Takes a message back, unless it is just being sent for the first time: a further try is cut off. @returns {Entry|null} */
  take(id) {
    const entry = this.#kept.get(KIND, id);
    if (!entry || (this.#sending.has(id) && !entry.problem)) return null;
    this.#kept.set(KIND, id, null);
    this.#sending.get(id)?.abort();
    // What stood behind it may go.
    this.send(placeOf(entry));
    return entry;
  }

  /** What was written for a beginning belongs to the conversation that came of it. */
  settle(beginning, conversationId) {
    const moved = this.of(beginning).map((entry) => [KIND, entry.id, { ...entry, conversationId }]);
    return moved.length > 0 ? this.#kept.change(moved) : undefined;
  }

  /** Sends all that waits: after a reload, with the network back, or because the person wants it. */
  sendAll() {
    return Promise.all([...new Set(this.entries.map(placeOf))].map((place) => this.send(place)));
  }

  /** Sends what waits in one conversation, one message after the other. */
  async send(place) {
    if (!place) return;
    this.#timers.clearTimeout(this.#retries.get(place)?.timer);
    await this.#lock(place, () => this.#sendNext(place));
  }

  async #sendNext(place) {
    const next = this.of(place).find(({ problem }) => !problem?.isRefused);
    // Another tab may have sent it.
    const entry = next && (await this.#kept.fresh(KIND, next.id));
    if (next && !entry) return this.#sendNext(place);
    if (!entry || this.#sending.has(entry.id) || this.#isAnswering(entry.conversationId)) return undefined;
    const request = new AbortController();
    this.#sending.set(entry.id, request);
    this.#tell();
    try {
      await this.#deliver(entry, request);
    } catch (error) {
      this.#sending.delete(entry.id);
      // Taken back, it may be on its way again under the same id.
      return request.signal.aborted ? this.#goOn(place, this.#kept.get(KIND, entry.id) ?? entry) : this.#failed(entry.id, error);
    }
    this.#sending.delete(entry.id);
    this.#retries.delete(place);
    const sent = this.#kept.get(KIND, entry.id) ?? entry;
    await this.#kept.set(KIND, entry.id, null);
    return this.#goOn(place, sent);
  }

  /** What stands behind a message may have moved with it, to the conversation that came of a beginning. */
  #goOn(place, entry) {
    return placeOf(entry) === place ? this.#sendNext(place) : void this.send(placeOf(entry));
  }

  async #failed(id, error) {
    // It may have got its conversation meanwhile.
    const entry = this.#kept.get(KIND, id);
    if (!entry) return;
    const { code = 'failed', message } = error;
    if (code === 'conflict') {
      // The server has another text under this id, which was changed here since: this one is a message of its own.
      const renewed = { ...entry, id: newId() };
      await this.#kept.change([[KIND, id, null], [KIND, renewed.id, renewed]]);
      await this.#sendNext(placeOf(entry));
      return;
    }
    const isRefused = code !== 'turn_in_progress' && !NEEDS_THE_PERSON.has(code) && !this.#mayPass(error);
    await this.#kept.set(KIND, id, { ...entry, problem: { code, message, isRefused } });
    if (isRefused) await this.#sendNext(placeOf(entry));
    else if (!NEEDS_THE_PERSON.has(code)) this.#retryLater(placeOf(entry), error);
  }

  #retryLater(place, { code, retryAfter }) {
    const tried = (this.#retries.get(place)?.tried ?? 0) + 1;
    const growing = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (tried - 1));
    const pause = code === 'turn_in_progress' ? WHILE_ANSWERING_MS : Math.max(growing, (retryAfter ?? 0) * 1000);
    this.#sendLater(place, pause, tried);
  }

  #sendLater(place, pause, tried = 0) {
    this.#timers.clearTimeout(this.#retries.get(place)?.timer);
    this.#retries.set(place, { tried, timer: this.#timers.setTimeout(() => this.send(place), pause) });
  }

  /** Whether it waits for an answer, or for the message before it. */
  #waits(entry) {
    if (this.#sending.has(entry.id)) return false;
    const [first] = this.of(placeOf(entry)).filter(({ problem }) => !problem?.isRefused);
    return first?.id !== entry.id || this.#isAnswering(entry.conversationId);
  }

  #tell() {
    for (const listener of this.#listeners) listener();
  }

  #nextTime() {
    return Math.max(Date.now(), ...this.entries.map(({ at }) => at + 1));
  }
}
