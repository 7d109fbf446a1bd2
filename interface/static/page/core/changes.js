/**
 * The changes of the person's things, as `GET /events` tells them: one stream a browser, which one tab reads and passes on.
 *
 * Each tab knows its own position. A tab that misses something (its page was frozen, its leader changed) asks the leader,
 * which reads again from there: `seq` has no gaps, so a gap is seen. What was seen is passed over.
 */

import { mayPass } from './api.js';
import { lead } from './leadership.js';
import { ndjsonBatches } from './ndjson.js';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** A leader that runs answers at once, also where its window is hidden. */
const ANSWER_MS = 2000;

const pause = (milliseconds, signal) => new Promise((resolve) => {
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
    resolve();
  };
  const timer = setTimeout(end, milliseconds);
  signal.addEventListener('abort', end, { once: true });
});

/**
 * @typedef {{seq: number, epoch: string}} Position up to where the changes are known
 * @typedef {{seq: number, kind: string, change: 'created'|'changed'|'gone', id: string, conversation_id?: string, fields: object, at: string}} Change
 */

export class ChangeFeed {
  #open;
  #on;
  #channel;
  #leadBy;
  /** null while the session tells this tab nothing: it then leads no more, and hears whether another tab does. */
  #leadership = null;
  #position;
  #wait;
  /** How often the leader was heard. */
  #heard = 0;
  #closed = new AbortController();
  /** Of the stream that this tab reads as the leader; null while it doesn't lead. */
  #reading = null;

  /**
   * @param {object} parts
   * @param {(query: {after: number, epoch: string}, options: {signal: AbortSignal}) => Promise<Response>} parts.open the stream
   * @param {Position} parts.position up to where this page knows what changed
   * @param {{changes: (changes: Change[]) => void, reset: () => void, alive: () => void, end: (error: Error) => void}} parts.on `reset`:
   *   lists have to be asked for again; `alive`: the server can be reached; `end`: it tells this session nothing, until somebody logs in again
   * @param {string} parts.name of the channel between the tabs, the same for all tabs of one account
   */
  constructor({
    open, position, on, name, channel = new BroadcastChannel(name), leadBy = lead, wait = pause,
  }) {
    this.#open = open;
    this.#position = position;
    this.#on = on;
    this.#wait = wait;
    this.#channel = channel;
    channel.addEventListener('message', ({ data }) => this.#hear(data));
    this.#leadBy = () => leadBy(name, { begin: () => this.#read(), end: () => this.#stopReading() });
    this.#standForLead();
    this.#askFromHere();
  }

  get position() {
    return this.#position;
  }

  get leads() {
    return this.#reading !== null;
  }

  /** The page can be seen again, or is online again: makes sure that nothing was missed. */
  wake() {
    this.#standForLead();
    this.#reading?.wakeUp.abort();
    this.watch();
  }

  /** Takes over where no leader answers: its window may be frozen by the browser. To be called now and then while this page is seen. */
  async watch() {
    if (this.leads || !this.#leadership) return;
    const before = this.#heard;
    this.#askFromHere();
    await this.#wait(ANSWER_MS, this.#closed.signal);
    if (this.#heard === before && !this.leads && !this.#closed.signal.aborted) this.#leadership?.takeOver();
  }

  close() {
    this.#closed.abort();
    this.#rest();
    this.#channel.close();
  }

  #standForLead() {
    if (!this.#closed.signal.aborted) this.#leadership ??= this.#leadBy();
  }

  #rest() {
    this.#leadership?.resign();
    this.#leadership = null;
    this.#stopReading();
  }

  #askFromHere() {
    this.#channel.postMessage({ from: this.#position });
  }

  #hear({ from, lines, epoch }) {
    if (from) {
      if (this.leads) this.#answer(from);
      return;
    }
    this.#heard += 1;
    if (!lines) return;
    this.#standForLead();
    this.#take(lines, epoch);
    this.#on.alive();
  }

  /** As the leader, to a tab that knows the changes up to `from`. */
  #answer(from) {
    this.#channel.postMessage({ isLed: true });
    if (from.epoch === this.#position.epoch && from.seq < this.#position.seq) this.#read(from);
  }

  /** Begins to read as the leader, from the position of the tab that knows least. */
  #read(position = this.#position) {
    this.#stopReading();
    const reading = { stop: new AbortController(), wakeUp: new AbortController(), position };
    this.#reading = reading;
    this.#follow(reading);
  }

  #stopReading() {
    this.#reading?.stop.abort();
    this.#reading?.wakeUp.abort();
    this.#reading = null;
  }

  async #follow(reading) {
    const { signal } = reading.stop;
    for (let attempt = 0; !signal.aborted; attempt += 1) {
      let error = null;
      try {
        const { seq: after, epoch } = reading.position;
        const { body } = await this.#open({ after, epoch }, { signal });
        this.#channel.postMessage({ lines: [], epoch });
        this.#on.alive();
        for await (const lines of ndjsonBatches(body)) {
          if (signal.aborted) return;
          attempt = 0;
          this.#pass(reading, lines);
        }
      } catch (failure) {
        if (signal.aborted) return;
        error = failure;
        if (failure.status && !mayPass(failure)) {
          this.#rest();
          this.#on.end(failure);
          return;
        }
      }
      await this.#pause(reading, attempt, error);
    }
  }

  #pause(reading, attempt, error) {
    reading.wakeUp = new AbortController();
    const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
    // Not all browsers at once, after the server was started again.
    const milliseconds = (error?.retryAfter ?? 0) * 1000 || longest * (0.5 + Math.random() / 2);
    return this.#wait(milliseconds, reading.wakeUp.signal);
  }

  #pass(reading, lines) {
    const last = lines.at(-1);
    const epoch = lines.findLast((line) => line.epoch)?.epoch ?? reading.position.epoch;
    reading.position = { seq: last.seq, epoch };
    this.#channel.postMessage({ lines, epoch });
    this.#take(lines, epoch);
  }

  #take(lines, epoch) {
    const reset = lines.findLast((line) => line.reset);
    if (reset && !(reset.seq === this.#position.seq && epoch === this.#position.epoch)) {
      this.#position = { seq: reset.seq, epoch };
      this.#on.reset();
    }
    if (epoch !== this.#position.epoch) return;
    const fresh = lines.filter((line) => line.seq > this.#position.seq);
    if (fresh.length === 0) return;
    if (fresh[0].kind === undefined || fresh[0].seq > this.#position.seq + 1) {
      if (this.leads) this.#read();
      else this.#askFromHere();
      return;
    }
    const changes = fresh.filter((line) => line.kind !== undefined);
    this.#position = { ...this.#position, seq: changes.at(-1).seq };
    this.#on.changes(changes);
  }
}
