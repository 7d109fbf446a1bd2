import { isActivityName } from './report_model.js';

const MOST_ENTRIES = 500;

/**
 * Looks references up, each once in a while, and the same one only once at a time.
 *
 * @param {(ref: string, place: string) => Promise<object>} resolve
 * @param {{maxAge?: number, now?: () => number, parallel?: number, placeOf?: (ref: string) => string}} [options] `maxAge` in
 *   milliseconds; `placeOf`: what the meaning of a reference depends on beside its name
 */
export function createReferenceCache(resolve, { maxAge = 60000, now = Date.now, parallel = 4, placeOf = () => '' } = {}) {
  const entries = new Map();
  const waiting = [];
  let running = 0;

  function next() {
    if (running >= parallel || waiting.length === 0) return;
    running += 1;
    const { ref, place, fulfil, reject } = waiting.shift();
    resolve(ref, place).then(fulfil, reject).finally(() => {
      running -= 1;
      next();
    });
  }

  function queue(ref, place) {
    return new Promise((fulfil, reject) => {
      waiting.push({ ref, place, fulfil, reject });
      next();
    });
  }

  function get(ref) {
    const place = placeOf(ref);
    const key = `${place} ${ref}`;
    const known = entries.get(key);
    if (known && now() - known.at < maxAge) return known.promise;
    const promise = queue(ref, place);
    entries.delete(key);
    entries.set(key, { at: now(), promise });
    promise.catch(() => entries.delete(key));
    for (const oldest of [...entries.keys()].slice(0, -MOST_ENTRIES)) entries.delete(oldest);
    return promise;
  }

  return { get, clear: () => entries.clear() };
}

/**
 * The references of a conversation: short ids of activities are looked up there first.
 *
 * @param {object} api
 * @param {() => string} conversationId of the open conversation, '' for none
 */
export function createConversationReferences(api, conversationId) {
  return createReferenceCache((ref, place) => api.resolveReference(ref, { conversationId: place }), {
    placeOf: (ref) => (isActivityName(ref) ? conversationId() : ''),
  });
}
