/** What a text has to be so that memories can be made from it. */

export const MOST_TEXT_BYTES = 50 * 1024;
export const MOST_STATEMENTS = 100;

const READABLE = /\.(txt|md|markdown)$/i;

/** @param {string} text @returns {number} as the server counts it */
export function bytesOf(text) {
  return new TextEncoder().encode(text).length;
}

/**
 * @param {{name: string, size: number, type?: string}} file
 * @returns {'too_large'|'no_text'|null} why a file cannot be read; null: it can
 */
export function refusalOf({ name, size, type = '' }) {
  if (!READABLE.test(name) && !['text/plain', 'text/markdown'].includes(type)) return 'no_text';
  return size > MOST_TEXT_BYTES ? 'too_large' : null;
}

/**
 * What an export of ours holds.
 *
 * @param {string} text
 * @returns {object|null} null where it is none
 */
export function exportIn(text) {
  try {
    const payload = JSON.parse(text);
    return payload && typeof payload === 'object' && !Array.isArray(payload) ? payload : null;
  } catch {
    return null;
  }
}
