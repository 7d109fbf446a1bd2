/**
 * What a person typed and the server does not have yet, kept in the browser's database (IndexedDB): drafts, edits, forms, and
 * messages on their way. A write is safe as soon as it is begun, also where the tab is closed then; where the browser is killed, as
 * soon as its database has it, some milliseconds later. A long text is written in the pauses of typing and every few seconds, and when its page
 * is left.
 */

import { onceMore, openDatabase } from './database.js';
import { createUnwritten } from './unwritten.js';

const CHANNEL = 'anaphora.kept';
/** What is kept of how something is shown: nobody typed it. */
export const VIEW = 'view';
/** Who writes these says itself where they are not kept. */
const SAID_ELSEWHERE = new Set([VIEW, 'draft-files', 'draft-upload']);
/** The page waits no longer for the database: what is kept there comes when it opens, and what is typed until then is kept then. */
const PATIENCE_MS = 5000;
/** What `setSoon` is given is written after such a pause, and as soon as nothing of it was written for so long. */
const PAUSE_MS = 500;
const LONGEST_MS = 3000;

/** A database of a page that may not keep anything: what is typed lives as long as the page. */
const refused = () => Promise.reject(new Error('This browser keeps nothing.'));
const NOTHING = { readAll: refused, read: refused, put: refused };

/** A database that is still being opened. What is written until then outlives a reload of this window, too. */
function opened(opening, unwritten) {
  let isOpen = false;
  opening.then(() => {
    isOpen = true;
  });
  return {
    readAll: async (owner) => (await opening).readAll(owner),
    read: async (key) => (await opening).read(key),
    async put(changes) {
      if (isOpen) unwritten.forget(changes);
      else unwritten.add(changes);
      await (await opening).put(changes);
      unwritten.remove(changes);
    },
  };
}

/** @returns {Promise<boolean>} whether it is settled before the patience ends */
async function isSoon(promise) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS, false);
  });
  const isInTime = await Promise.race([promise.then(() => true), late]);
  clearTimeout(timer);
  return isInTime;
}

/** The entries of one account, each under a kind and an id. Read at once; written to the database, and seen in all tabs. */
export class Kept {
  #owner;
  #database;
  #channel;
  /** By kind, then id. */
  #entries = new Map();
  /** How often an entry was written here: what was read of an earlier one is old. */
  #written = new Map();
  /** Entries that the browser has no room for: they live as long as the page. */
  #unstored = new Set();
  #listeners = new Set();
  /** What is to be written soon; when something of that kind was written last; the timer of the pause. */
  #soon = new Map();
  #soonAt = 0;
  #pause = null;
  /** Begun once: who has waited in vain does not wait again. */
  #patience = null;
  #onUnkept;
  /** Takes back what was said of what is not kept; null where nothing was. */
  #takeBack = null;
  #tellRead;
  #isRead = new Promise((resolve) => {
    this.#tellRead = resolve;
  });

  /** @param {{owner: string, database: object, channel?: BroadcastChannel|null, onUnkept?: () => (() => void)}} options `onUnkept`: see `openKept` */
  constructor({ owner, database, channel = null, onUnkept = () => () => {} }) {
    this.#onUnkept = onUnkept;
    this.#owner = owner;
    this.#database = database;
    this.#channel = channel;
    channel?.addEventListener('message', ({ data }) => data?.owner === owner && this.#hear(data.entries));
    globalThis.addEventListener?.('pagehide', () => this.flush());
    globalThis.document?.addEventListener('visibilitychange', () => this.flush());
  }

  /** Reads what is in the database; what was written here meanwhile is newer. */
  async load() {
    try {
      for (const [[, kind, id], value] of await onceMore(() => this.#database.readAll(this.#owner))) {
        if (!this.#written.has(JSON.stringify([kind, id]))) this.#note(kind, id, value);
      }
    } catch {
      // As if there were nothing.
    }
    this.#tellRead();
    return this;
  }

  /** Resolves once what the database keeps was read, which is late on a busy machine, or when the patience ends. */
  async ready() {
    await (this.#patience ??= isSoon(this.#isRead));
  }

  /** The same for a page that is shown already. */
  async loadLate() {
    await this.load();
    const entries = [...this.#entries].flatMap(([kind, known]) => [...known.keys()].map((id) => [kind, id]));
    this.#tell(entries.filter((entry) => !this.#written.has(JSON.stringify(entry))), { isElsewhere: true, isLate: true });
  }

  /** @returns {any} null for what is not there */
  get(kind, id) {
    return this.#entries.get(kind)?.get(id) ?? null;
  }

  /** @returns {Array<[string, any]>} */
  all(kind) {
    return [...(this.#entries.get(kind) ?? [])];
  }

  /**
   * @param {any} value null removes the entry
   * @returns {Promise<boolean>} whether the browser keeps it beyond the page
   */
  set(kind, id, value) {
    return this.change([[kind, id, value]]);
  }

  /** As `set`, for what is large and changes with each key: read at once, and written every few seconds. */
  setSoon(kind, id, value) {
    const key = JSON.stringify([kind, id]);
    const since = Date.now() - this.#soonAt;
    this.#soon.set(key, [kind, id]);
    this.#written.set(key, (this.#written.get(key) ?? 0) + 1);
    this.#note(kind, id, value);
    this.#tell([[kind, id]], { isElsewhere: false });
    clearTimeout(this.#pause);
    // Where the clock was set back, nobody knows how long ago it was.
    if (since > LONGEST_MS || since < 0) this.flush();
    else this.#pause = setTimeout(() => this.flush(), Math.min(PAUSE_MS, LONGEST_MS - since));
  }

  /** Writes what is to be written soon. */
  flush() {
    clearTimeout(this.#pause);
    if (this.#soon.size === 0) return;
    this.#soonAt = Date.now();
    this.change([...this.#soon.values()].map(([kind, id]) => [kind, id, this.get(kind, id)]));
  }

  /**
   * Several entries at once: all are written, or none.
   *
   * @param {Array<[string, string, any]>} changes kind, id, value
   */
  async change(changes) {
    const keys = changes.map(([kind, id]) => JSON.stringify([kind, id]));
    for (const key of keys) {
      this.#written.set(key, (this.#written.get(key) ?? 0) + 1);
      this.#soon.delete(key);
    }
    for (const [kind, id, value] of changes) this.#note(kind, id, value);
    const entries = changes.map(([kind, id]) => [kind, id]);
    this.#tell(entries, { isElsewhere: false });
    try {
      // Written once more, it is what was written last.
      await onceMore(() => this.#database.put(entries.map(([kind, id]) => [[this.#owner, kind, id], this.get(kind, id)])));
    } catch {
      keys.forEach((key) => this.#unstored.add(key));
      if (changes.some(([kind, , value]) => value !== null && !SAID_ELSEWHERE.has(kind))) this.#takeBack ??= this.#onUnkept();
      return false;
    }
    keys.forEach((key) => this.#unstored.delete(key));
    if ([...this.#unstored].every((key) => SAID_ELSEWHERE.has(JSON.parse(key)[0]))) {
      this.#takeBack?.();
      this.#takeBack = null;
    }
    this.#channel?.postMessage({ owner: this.#owner, entries });
    return true;
  }

  /** Looks in the database what another tab wrote, which may not have been told yet. */
  async fresh(kind, id) {
    await this.#readAgain([[kind, id]]);
    return this.get(kind, id);
  }

  /** Whether nothing waits that the person typed. */
  get isEmpty() {
    return [...this.#entries].every(([kind, entries]) => kind === VIEW || entries.size === 0);
  }

  /** Removes all that is kept for the account. */
  clear() {
    return this.change([...this.#entries].flatMap(([kind, entries]) => [...entries.keys()].map((id) => [kind, id, null])));
  }

  /**
   * Calls `listener({kind, id, isElsewhere, isLate})` for each entry that changes, here or in another tab. `isLate`: what the database
   * has had all along is read only now.
   *
   * @returns {() => void} stops that
   */
  follow(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #note(kind, id, value) {
    if (!this.#entries.has(kind)) this.#entries.set(kind, new Map());
    if (value === null || value === undefined) this.#entries.get(kind).delete(id);
    else this.#entries.get(kind).set(id, value);
  }

  async #hear(entries) {
    await this.#readAgain(entries);
    this.#tell(entries, { isElsewhere: true });
  }

  async #readAgain(entries) {
    for (const [kind, id] of entries) {
      const key = JSON.stringify([kind, id]);
      const before = this.#written.get(key);
      let value;
      try {
        value = await onceMore(() => this.#database.read([this.#owner, kind, id]));
      } catch {
        continue;
      }
      if (this.#written.get(key) === before && !this.#unstored.has(key) && !this.#soon.has(key)) this.#note(kind, id, value);
    }
  }

  #tell(entries, how) {
    for (const [kind, id] of entries) for (const listener of this.#listeners) listener({ kind, id, ...how });
  }
}

/**
 * @param {string} owner the account; several people may share a browser
 * @param {() => (() => void)} onUnkept called when what was typed could not be kept; gives what is called once something can be again
 * @returns {Promise<Kept>}
 */
export async function openKept(owner, onUnkept) {
  // A browser may forbid it.
  const opening = globalThis.indexedDB ? openDatabase(globalThis.indexedDB).catch(() => NOTHING) : Promise.resolve(NOTHING);
  const channel = typeof BroadcastChannel === 'undefined' ? null : new BroadcastChannel(CHANNEL);
  return keptIn(opening, { owner, channel, onUnkept, isSoon: await isSoon(opening) });
}

/** What `openKept` gives over a database that is open, or will be. */
export async function keptIn(opening, { isSoon: isOpen, unwritten = createUnwritten(), ...given }) {
  const { owner } = given;
  const kept = new Kept({ ...given, database: opened(opening, unwritten) });
  const left = unwritten.of(owner);
  if (left.length) kept.change(left.map(([[, kind, id], value]) => [kind, id, value]));
  if (isOpen) await kept.load();
  else kept.loadLate();
  return kept;
}
