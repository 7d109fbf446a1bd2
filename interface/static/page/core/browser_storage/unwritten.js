/**
 * What was typed while the browser's database was not open yet, which takes seconds on a busy machine: kept for this window as
 * well, so that a reload meanwhile loses none of it. The next page writes it.
 */

import { windowOnly } from './storage.js';

const KEY = 'anaphora:unwritten';

/** Files wait for the database alone: text can't hold them. */
const isText = (value) =>
  value === null || typeof value !== 'object'
  || (Array.isArray(value) ? value.every(isText) : Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isText));

/** @param {{get: (key: string) => string|null, set: (key: string, value: string|null) => void}} [storage] */
export function createUnwritten(storage = windowOnly) {
  /** Values as JSON, by [owner, kind, id] as JSON. */
  function read() {
    try {
      return new Map(JSON.parse(storage.get(KEY) ?? '[]'));
    } catch {
      return new Map();
    }
  }

  function change(work) {
    const entries = read();
    const before = entries.size;
    work(entries);
    if (before || entries.size) storage.set(KEY, entries.size ? JSON.stringify([...entries]) : null);
  }

  return {
    /** @param {Array<[string[], any]>} changes keys and values; null removes */
    add: (changes) => change((entries) => {
      for (const [key, value] of changes) if (isText(value)) entries.set(JSON.stringify(key), JSON.stringify(value));
    }),
    /** Newer ones take their places. */
    forget: (changes) => change((entries) => {
      for (const [key] of changes) entries.delete(JSON.stringify(key));
    }),
    /** They are in the database; what was typed since is not. */
    remove: (changes) => change((entries) => {
      for (const [key, value] of changes) {
        const name = JSON.stringify(key);
        if (entries.get(name) === JSON.stringify(value)) entries.delete(name);
      }
    }),
    /** @returns {Array<[string[], any]>} what an earlier page of this window left of an account */
    of: (owner) => [...read()].map(([key, value]) => [JSON.parse(key), JSON.parse(value)]).filter(([key]) => key[0] === owner),
  };
}
