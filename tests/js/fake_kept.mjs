import { Kept } from '../../interface/static/page/core/browser_storage/kept.js';

/** A database in memory, shared by the tabs that `openTab` opens; with `isFull` it takes nothing. */
export function createMemory({ isFull = false } = {}) {
  const stored = new Map();
  const tabs = [];
  const database = {
    readAll: async (owner) => [...stored].map(([key, value]) => [JSON.parse(key), value]).filter(([key]) => key[0] === owner),
    read: async (key) => stored.get(JSON.stringify(key)),
    async put(changes) {
      if (isFull) throw new DOMException('full', 'QuotaExceededError');
      for (const [key, value] of changes) {
        if (value === null) stored.delete(JSON.stringify(key));
        else stored.set(JSON.stringify(key), structuredClone(value));
      }
    },
  };

  function channelOf(number) {
    return {
      addEventListener: (name, listener) => { tabs[number] = listener; },
      postMessage: (data) => tabs.forEach((listener, other) => other !== number && listener?.({ data })),
    };
  }

  return {
    stored,
    database,
    openTab: (owner = 'ada') => new Kept({ owner, database, channel: channelOf(tabs.push(null) - 1) }).load(),
  };
}

/** Until everything that was begun is done. */
export const settled = () => new Promise((resolve) => { setTimeout(resolve, 5); });
