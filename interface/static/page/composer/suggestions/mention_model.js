/** What a person is in the middle of referring to, or commanding, seen from the text before the caret. */

const OPENING = /[\s([{<"'`«‹“‘„‚]/;
const MESSAGE_PART = /^(?:conversation|conv)_(.+)_(?:message|msg)_([^\s]*)$/i;
const PREFIX = /^(?:conversation|conv)(?:_|$)/i;
/** A whole id with more text behind it: nothing is looked for any more. */
const COMPLETE = /^(?:#\d+|[a-z][a-z0-9-]*_[a-z0-9_&-]+)\s/i;
/** Behind groups, the beginning of one that `&` joins to them. */
const JOINED = /^(?:[a-z][a-z0-9_-]*_(?:context|entity|tag|domain)&){1,3}([a-z0-9_-]*)$/i;
const COMMAND = /^\/((?:\p{L}[\p{L}\p{N}_-]*)?)$/u;
const LONGEST_QUERY = 60;
const LONGEST_ID = 32;
const MOST_WORDS = 4;

/** The text that was looked at last: who goes on with a name has the same before it. */
let looked = { text: '', isInside: false };

function insideCode(text) {
  if (text !== looked.text) looked = { text, isInside: endsInCode(text) };
  return looked.isInside;
}

function endsInCode(text) {
  const fences = text.match(/^ {0,3}(?:```|~~~)/gm)?.length ?? 0;
  if (fences % 2 === 1) return true;
  const line = text.slice(text.lastIndexOf('\n') + 1);
  return (line.match(/`/g)?.length ?? 0) % 2 === 1;
}

/** As much of a text as a sign of two characters and a query of such a length behind it can take: a text may be long. */
const endOf = (text, longest) => text.slice(-longest - 2);

function signBefore(text) {
  const at = text.lastIndexOf('@');
  if (at < 0 || text.length - at > LONGEST_QUERY * 2) return -1;
  if (at > 0 && !OPENING.test(text[at - 1])) return -1;
  return at;
}

/**
 * `any` is asked of everything that has a name, `group` of contexts, entities, tags and domains, `conversation` and `message` of what their prefix says, `command` of the
 * commands that a message can begin with, `activity` of what has a short id.
 *
 * @param {string} text
 * @param {number} caret
 * @returns {null | {kind: 'any'|'group'|'conversation'|'command'|'document'|'activity', start: number, end: number, query: string}
 *   | {kind: 'message', start: number, end: number, friendlyId: string, query: string}}
 *   `start` is where the sign stands, of a group where its name begins; `end` is the caret.
 */
export function mentionAt(text, caret) {
  const before = text.slice(0, caret);
  const command = COMMAND.exec(before);
  if (command) return { kind: 'command', start: 0, end: caret, query: command[1].toLowerCase() };
  const link = linkAt(text, caret);
  if (link) return link;
  const activity = activityAt(before);
  if (activity) return activity;
  const start = signBefore(before);
  if (start < 0 || insideCode(before.slice(0, start))) return null;
  const typed = before.slice(start + 1);
  const message = MESSAGE_PART.exec(typed);
  if (message) {
    return { kind: 'message', start, end: caret, friendlyId: message[1].toLowerCase(), query: message[2] };
  }
  const joined = JOINED.exec(typed);
  if (joined) return { kind: 'group', start: caret - joined[1].length, end: caret, query: joined[1] };
  return namedMention(typed, start, caret);
}

/** The beginning of a link to a document: two brackets that are not closed yet. What closes them behind the caret goes too. */
const LINK = /\[\[([^[\]\n]*)$/;

function linkAt(text, caret) {
  const before = text.slice(0, caret);
  const found = LINK.exec(endOf(before, LONGEST_QUERY));
  if (!found) return null;
  const start = caret - found[0].length;
  if (insideCode(before.slice(0, start))) return null;
  const end = caret + (text.startsWith(']]', caret) ? 2 : 0);
  return { kind: 'document', start, end, query: found[1].split(/[#|]/, 1)[0] };
}

/** The beginning of a short id, or a word of what is meant by it. */
const ACTIVITY = /#([\p{L}\p{N}_-]*)$/u;

function activityAt(before) {
  const found = ACTIVITY.exec(endOf(before, LONGEST_ID));
  if (!found || found[1].length > LONGEST_ID) return null;
  const start = before.length - found[0].length;
  if ((start > 0 && !OPENING.test(before[start - 1])) || insideCode(before.slice(0, start))) return null;
  return { kind: 'activity', start, end: before.length, query: found[1] };
}

function namedMention(typed, start, end) {
  const prefixed = PREFIX.test(typed);
  // After the prefix an id is being typed; without it, a few words of a name or title on one line.
  const pattern = prefixed ? /^\S*$/ : /^[^\n@]*$/;
  if (!pattern.test(typed) || typed.length > LONGEST_QUERY || typed.startsWith(' ')) return null;
  if (typed.split(' ').length > MOST_WORDS || COMPLETE.test(typed)) return null;
  return { kind: prefixed ? 'conversation' : 'any', start, end, query: typed.replace(PREFIX, '') };
}

export const isSameMention = (one, other) => one?.kind === other.kind && one.start === other.start && one.query === other.query;

/** Behind a "#": the beginning of a short id, and neither the number of a memory nor a word. */
const BEGINS_SHORT_ID = /^(?=.*[a-f])[0-9a-f]{1,5}$/i;

/** Whether Enter may take what is offered first: somebody who writes "@Anna" and a sentence after it, or "#todo", means no row. */
export function isOneWord({ kind, query }) {
  return kind === 'activity' ? BEGINS_SHORT_ID.test(query) : kind !== 'any' || !query.includes(' ');
}

/** A message's hash or number: where it is no search for a message, it is a reference that lacks nothing. */
const MESSAGE_NAME = /^(?:[a-z0-9]{6,}|\d+)$/i;

/** Whether what is typed may be a whole reference already, about which there is nothing to say. */
export const isComplete = ({ kind, query }) => kind === 'message' && MESSAGE_NAME.test(query);

/** A word that is looked for in messages and can be no reference: no number, and not what a hash begins with, or an id that is not written to its end. */
const SEARCH_WORD = /^(?![a-z]{1,6}$)[\p{L}\p{M}]+$/iu;

/**
 * Whether who wants none of the messages that are offered means the conversation: what is typed would else stay half a name, and nothing that
 * somebody wrote goes with it.
 *
 * @param {{kind: string, query: string}} mention
 * @param {string} behind the text behind the caret
 */
export const meansConversation = ({ kind, query }, behind) => kind === 'message' && (query === '' || SEARCH_WORD.test(query)) && /^(?:\s|$)/.test(behind);

/** @param {string} friendlyId @returns {string} what choosing a conversation inserts */
export function conversationChosen(friendlyId) {
  return `@conversation_${friendlyId}_message_`;
}

/** @param {string} typed whose message part was given up @returns {string} the reference to the whole conversation, as it was typed otherwise */
export const withoutMessagePart = (typed) => typed.replace(/^(.+)_(?:message|msg)_\S*$/i, '$1');

/** @param {string} friendlyId @param {{index: number, message_short_hash?: string|null}} message */
export function messageChosen(friendlyId, { index, message_short_hash: hash }) {
  return `${conversationChosen(friendlyId)}${hash || index} `;
}

/** @param {string} friendlyId @param {{index: number, message_short_hash?: string|null, number: number}} file of a message */
export function fileChosen(friendlyId, { index, message_short_hash: hash, number }) {
  return `${conversationChosen(friendlyId)}${hash || index}_file_${number} `;
}

/** @param {{reference: string}} found a message that a search found @returns {string} what choosing it inserts */
export function foundChosen({ reference }) {
  return `${reference} `;
}

/** @param {{reference: string}} document @returns {string} what choosing it inserts */
export function documentChosen({ reference }) {
  return `${reference} `;
}

/** @param {{reference: string}} activity with its "#" @returns {string} what choosing it inserts */
export function activityChosen({ reference }) {
  return `${reference} `;
}

/** @param {{friendly_id: string}} group @returns {string} what choosing it inserts behind the `&` that joins it to others */
export function joinedChosen({ friendly_id: friendlyId }) {
  return `${friendlyId} `;
}

/** @param {{friendly_id: string}} named a memory, context, entity, tag or domain @returns {string} what choosing it inserts */
export function memoryChosen({ friendly_id: friendlyId }) {
  return `@${friendlyId} `;
}
