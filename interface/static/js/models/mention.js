/** What a person is in the middle of referring to, seen from the text before the caret. */

const OPENING = /[\s([{<"'`«‹“‘„‚]/;
const MESSAGE_PART = /^(?:conversation|conv)_(.+)_(?:message|msg)_([^\s]*)$/i;
const PREFIX = /^(?:conversation|conv)(?:_|$)/i;
const LONGEST_QUERY = 60;
const MOST_WORDS = 4;

function insideCode(text) {
  const fences = text.match(/^ {0,3}(?:```|~~~)/gm)?.length ?? 0;
  if (fences % 2 === 1) return true;
  const line = text.slice(text.lastIndexOf('\n') + 1);
  return (line.match(/`/g)?.length ?? 0) % 2 === 1;
}

function signBefore(text) {
  const at = text.lastIndexOf('@');
  if (at < 0 || text.length - at > LONGEST_QUERY * 2) return -1;
  if (at > 0 && !OPENING.test(text[at - 1])) return -1;
  return at;
}

/**
 * @param {string} text
 * @param {number} caret
 * @returns {null | {kind: 'conversation', start: number, end: number, query: string}
 *   | {kind: 'message', start: number, end: number, friendlyId: string, query: string}}
 *   `start` is where the `@` stands; `end` is the caret.
 */
export function mentionAt(text, caret) {
  const before = text.slice(0, caret);
  const start = signBefore(before);
  if (start < 0 || insideCode(before.slice(0, start))) return null;
  const typed = before.slice(start + 1);
  const message = MESSAGE_PART.exec(typed);
  if (message) {
    return { kind: 'message', start, end: caret, friendlyId: message[1].toLowerCase(), query: message[2] };
  }
  return conversationMention(typed, start, caret);
}

function conversationMention(typed, start, end) {
  const named = PREFIX.test(typed);
  // After the prefix an id is being typed; without it, a few words of a title on one line.
  const pattern = named ? /^\S*$/ : /^[^\n@]*$/;
  if (!pattern.test(typed) || typed.length > LONGEST_QUERY || typed.startsWith(' ')) return null;
  if (typed.split(' ').length > MOST_WORDS) return null;
  return { kind: 'conversation', start, end, query: typed.replace(PREFIX, '') };
}

/**
 * The text after a choice, and where the caret goes.
 *
 * @param {string} text
 * @param {{start: number, end: number}} mention
 * @param {string} replacement
 * @returns {{text: string, caret: number}}
 */
export function completeMention(text, { start, end }, replacement) {
  return { text: text.slice(0, start) + replacement + text.slice(end), caret: start + replacement.length };
}

/** @param {string} friendlyId @returns {string} what choosing a conversation inserts */
export function conversationChosen(friendlyId) {
  return `@conversation_${friendlyId}_message_`;
}

/** @param {string} friendlyId @param {{index: number, message_short_hash?: string|null}} message */
export function messageChosen(friendlyId, { index, message_short_hash: hash }) {
  return `${conversationChosen(friendlyId)}${hash || index} `;
}
