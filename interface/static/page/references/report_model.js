/** Reading the report on references: the entries that the server stores with a user's message. */

import { excerpt } from '../core/words/excerpt.js';
import { agentName } from '../core/words/agent_name.js';
import { conversationTitle } from '../core/words/conversation_title.js';
import { saidText } from '../core/words/said.js';
import { referenceStrings } from '../strings/en/references.js';
import { linkText } from './wikilinks_model.js';

const GIVEN = new Set(['resolved', 'truncated']);
const ICONS = {
  message: 'chat-square-text',
  message_range: 'chat-square-text',
  conversation: 'chat',
  file: 'paperclip',
  claim: 'lightbulb',
  context: 'folder',
  entity: 'person',
  tag: 'tag',
  domain: 'collection',
  document: 'file-text',
  agent: 'robot',
  activity: 'chat-square-text',
};
/** The short id of an activity, or a colour. */
const ACTIVITY_NAME = /^#[0-9a-f]{6,32}$/i;
/** Where a target names what is in the knowledge base. */
const MEMORY_IDS = { claim: 'claim_id', context: 'context_id', entity: 'entity_id', tag: 'tag_id', domain: 'domain' };
/** An id of ours, by its looks: with an ending that says so, or with four characters at the end of which one is a digit. */
const MEMORY_NAME = /^(?:claim_\d+|[a-z].*_(?:context|entity|tag|domain)|[a-z].*_(?=[a-z]*\d)[a-z0-9]{4})$/i;

/** @param {object} entry */
export function isGiven(entry) {
  // A document is found under an ambiguous name too: the report says which one was taken.
  return GIVEN.has(entry.status) || Boolean(entry.target?.path);
}

/** @param {string} ref @returns {boolean} whether it is the short id of an activity, unless it is a colour */
export function isActivityName(ref) {
  return ACTIVITY_NAME.test(ref);
}

/** Whether the name was most likely no reference at all (a decorator, a handle), so that it is no failure. */
export function isMuted(entry) {
  return entry.muted === true;
}

/** @param {object} entry @returns {string[]} what the server remarks on a reference, in the page's language */
export function notesOf({ notes, said }) {
  return (notes ?? []).map((note, place) => saidText(note, said?.[place]));
}

/** Whether an entry is about no reference of the message but about what the server adds to it, or could not add. */
export function isBeside(entry) {
  return !/^(?:[@#+]|\[\[)/.test(entry.ref);
}

/** Whether an entry is a file that goes with the message itself, which has no reference yet. */
const isAttached = (entry) => /^file_\d+$/.test(entry.ref);

/** Whether there is nothing to say of an entry that the message itself does not show: a file of its own that went as it is. */
export function isPlainFile(entry) {
  return isAttached(entry) && entry.status === 'resolved' && notesOf(entry).length === 0;
}

/** Whether an entry is a message or an excerpt that the server found by its content: the message does not refer to it. */
export function isFound(entry) {
  return isBeside(entry) && isGiven(entry) && !isAttached(entry);
}

/** Whether the page shows things of this kind in a way of its own; others were added on the server. */
export const isKnownKind = (kind) => Object.hasOwn(ICONS, kind);

/** @param {object|null} entry the name of the icon that stands for what is referred to; of a kind that was added, the server says it */
export function iconOf(entry) {
  if (entry?.kind === 'activity' && !entry.target?.message_id) return 'circle';
  return (isKnownKind(entry?.kind) ? ICONS[entry.kind] : entry?.icon) ?? 'at';
}

/** @param {object} shown of a kind that the page doesn't know @returns {string|null} where the server shows it: a path of its own, and no other server's */
export function permalinkOf({ kind, permalink }) {
  return !isKnownKind(kind) && /^\/(?![/\\])/.test(permalink ?? '') ? permalink : null;
}

const LONGEST_LABEL = 60;

/**
 * What a person would say for a reference: *Title › #5*, *report.pdf › pages 3–5*.
 *
 * @param {object|null} entry
 * @returns {string} '' where nobody knows what it leads to
 */
export function labelOf(entry) {
  // The short id of an activity is short enough.
  if (!entry || entry.kind === 'activity' || (!isGiven(entry) && entry.status !== 'streaming')) return '';
  // A link reads as it was written, and not as the file that it leads to is called.
  const isLink = entry.kind === 'document' && entry.ref?.startsWith('[[');
  const title = excerpt((isLink ? linkText(entry.ref) : titleOf(entry)) ?? '', LONGEST_LABEL);
  if (entry.kind === 'file') return [title, pagesOf(entry)].filter(Boolean).join(' › ');
  const place = placeOf(entry);
  return title && place ? `${title} › #${place}` : title;
}

/** What is referred to is called so. A memory's title is the name that it is referred to by, which says less than what is in it. */
export function titleOf({ kind, title, preview }) {
  if (kind === 'agent') return agentName(title);
  if (kind === 'claim') return preview || title;
  return conversationTitle(title);
}

/** Which pages of a file are meant, in words; '' for all. */
function pagesOf({ ref }) {
  const [, first, last] = /_file_\d+_pages_(\d+)-(\d+)$/.exec(ref) ?? [];
  return first ? referenceStrings.pages(Number(first), Number(last)) : '';
}

/** Which messages of a conversation are meant: `5`, `3–5`, nothing. */
function placeOf({ ref, target }) {
  const [, first, last] = /_(?:messages|msgs)_(\d+)-(\d+)$/.exec(ref) ?? [];
  return first ? `${first}–${last}` : target?.message_index;
}

/**
 * @param {object[]} entries
 * @returns {{total: number, problems: Array<[string, number]>, found: number, files: number, missing: number}} how many references there are,
 *   how many of them fared badly, by status, how many messages and excerpts were found by content, how many files of the
 *   message went with a remark, and how many entries say that memories are missing
 */
export function summarise(entries) {
  const shown = entries.filter((entry) => !isMuted(entry));
  const counted = shown.filter((entry) => !isBeside(entry));
  const found = shown.filter(isFound).length;
  const attached = shown.filter(isAttached);
  const problems = new Map();
  for (const { status } of [...counted, ...attached]) {
    if (status !== 'resolved') problems.set(status, (problems.get(status) ?? 0) + 1);
  }
  const files = attached.filter((entry) => entry.status === 'resolved' && !isPlainFile(entry)).length;
  return { total: counted.length, problems: [...problems], found, files, missing: shown.length - counted.length - attached.length - found };
}

/**
 * @param {object[]} entries
 * @param {typeof import('../strings/en/references.js').referenceStrings} words
 * @returns {string} one line: "2 references · 1 not found · 1 found by content"
 */
export function summaryLine(entries, words) {
  const { total, problems, found, files, missing } = summarise(entries);
  return [
    ...(total > 0 ? [words.summary(total)] : []),
    ...problems.map(([status, n]) => words.problem[status]?.(n) ?? `${n} ${status}`),
    ...(found > 0 ? [words.found(found)] : []),
    ...(files > 0 ? [words.files(files)] : []),
    ...(missing > 0 ? [words.memoriesMissing] : []),
  ].join(' · ');
}

/**
 * @param {object|null} entry
 * @returns {{kind: string, id: string}|null} what to show in the Memories panel; null where it leads elsewhere or nowhere
 */
export function memoriesTarget(entry) {
  if (entry?.target?.group) return { kind: 'group', id: entry.target.group };
  const id = entry?.target?.[MEMORY_IDS[entry?.kind]];
  return id ? { kind: entry.kind, id } : null;
}

/** @param {object|null} entry @returns {{path: string, anchor: string|null}|null} the document to show; null where it leads elsewhere or nowhere */
export function documentTarget(entry) {
  return entry?.kind === 'document' && entry.target?.path ? { path: entry.target.path, anchor: entry.target.anchor ?? null } : null;
}

/** @param {string} name @returns {boolean} whether it is worth asking if the knowledge base has it */
export function looksLikeMemory(name) {
  return MEMORY_NAME.test(name);
}

/**
 * @param {string} ref as typed, or as a report names it
 * @returns {string} the name alone, lowercase for conversations; `#42` and `@CLAIM_42` are `claim_42`,
 *   `#A1B2C3` is `#a1b2c3`
 */
export function bareReference(ref) {
  if (isActivityName(ref)) return ref.toLowerCase();
  const bare = ref.replace(/^[@#]/, '').replace(/^mem(?:ory)?:/, '');
  if (/^\d+$/.test(bare)) return `claim_${bare}`;
  return /^(?:conv(?:ersation)?_|claim_\d+$)/i.test(bare) ? bare.toLowerCase() : bare;
}

/**
 * @param {object[]} entries
 * @returns {Map<string, object>} the entries by the bare name of their reference
 */
export function entriesByReference(entries) {
  return new Map(entries.filter((entry) => !isBeside(entry)).map((entry) => [bareReference(entry.ref), entry]));
}
