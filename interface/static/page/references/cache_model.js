const MOST_ENTRIES = 500;

/**
 * Looks references up, each once in a while, and the same one only once at a time.
 *
 * @param {(ref: string) => Promise<object>} resolve
 * @param {{maxAge?: number, now?: () => number, parallel?: number}} [options] `maxAge` in milliseconds
 */
export function createReferenceCache(resolve, { maxAge = 60000, now = Date.now, parallel = 4 } = {}) {
  const entries = new Map();
  const waiting = [];
  let running = 0;

  function next() {
    if (running >= parallel || waiting.length === 0) return;
    running += 1;
    const { ref, fulfil, reject } = waiting.shift();
    resolve(ref).then(fulfil, reject).finally(() => {
      running -= 1;
      next();
    });
  }

  function queue(ref) {
    return new Promise((fulfil, reject) => {
      waiting.push({ ref, fulfil, reject });
      next();
    });
  }

  function get(ref) {
    const known = entries.get(ref);
    if (known && now() - known.at < maxAge) return known.promise;
    const promise = queue(ref);
    entries.delete(ref);
    entries.set(ref, { at: now(), promise });
    promise.catch(() => entries.delete(ref));
    for (const oldest of [...entries.keys()].slice(0, -MOST_ENTRIES)) entries.delete(oldest);
    return promise;
  }

  return { get, clear: () => entries.clear() };
}
