/**
 * The grammar of `@` references in a message.
 * The same as in `conversation_reference_utils.py`; both are held to `tests/data/reference_cases.json`.
 */

import { codeRanges } from '../markdown/code_ranges_model.js';

const REFERENCE = new RegExp(
  '@(?:memory|mem):(?<claim>[a-zA-Z0-9-]+)' +
    '|@(?<name>[a-zA-Z][a-zA-Z0-9_-]{2,})' +
    '|#(?:(?<activity>[0-9a-fA-F]{6,32})|(?<number>[0-9]{1,5}))(?![a-zA-Z0-9_])(?!-[a-zA-Z0-9])',
  'g',
);
// Spelled out, because \s and \w mean other characters in Python. A right-hand quote opens in some languages.
const SPACE = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const INVISIBLE = '\\u200b-\\u200f\\u202a-\\u202e\\u2060\\u2066-\\u2069\\ufeff';
const OPENING =
  '(\\[{<"\'\\xab\\xbb\\u2018-\\u201f\\u2039\\u203a\\u3008\\u300a\\u300c\\u300e\\u3010\\u3014' +
  '\\uff02\\uff07\\uff08\\uff1c\\uff3b\\uff5b';
const MAY_PRECEDE = new RegExp(`[${SPACE}${INVISIBLE}${OPENING}]`);
// Before a fragment of an address: in a link of Markdown, in an attribute of HTML.
const BEFORE_FRAGMENT = ['](', '](<', '="', "='"];
const SPACES = new RegExp(`[${SPACE}]+`, 'g');

const SHORTEST_NAME = 3;
const MOST_JOINED = 4;
const GROUP = /_(?:context|entity|tag|domain)$/i;
const JOINED_NAME = /&([a-zA-Z][a-zA-Z0-9_-]*)/y;
const CONVERSATION = /^conv(?:ersation)?_./;
const KINDS = [
  [/^conv(?:ersation)?_.+_(?:message|msg)_[a-z0-9]+_file_[0-9]+(?:_pages_[0-9]+-[0-9]+)?$/, 'file'],
  [/^conv(?:ersation)?_.+_(?:messages|msgs)_[0-9]+-[0-9]+$/, 'message_range'],
  [/^conv(?:ersation)?_.+_(?:message|msg)_(?:[0-9]+|[a-z0-9]{6})$/, 'message'],
  [CONVERSATION, 'conversation'],
  [/_context$/, 'context'],
  [/_entity$/, 'entity'],
  [/_tag$/, 'tag'],
  [/_domain$/, 'domain'],
  [/^agent_/, 'agent'],
];

/**
 * @typedef {object} FoundReference
 * @property {number} start where it begins in the text, in UTF-16 code units
 * @property {number} end
 * @property {string} ref the name without `@`; `#42` is `claim_42`, `@memory:<id>` is `<id>`, joined groups are one name. Six to 32 hexadecimal digits
 *   keep their `#`, in lowercase: they name an activity, unless they are a colour
 * @property {string} kind what it looks like, in the words of the reference report: until the report tells, a guess
 * @property {boolean} isLegacy written in the older form `@memory:<id>`
 */

/**
 * What a message refers to. The message is sent as typed; `cleanText`, without references and with single spaces, serves
 * retrieval; what may be a colour stays in it. Each id stands once, in order of appearance; what is written in both forms
 * counts as the older.
 *
 * @param {string} text
 * @returns {{cleanText: string, claimIds: string[], friendlyIds: string[]}}
 */
export function parseMemoryReferences(text) {
  const claimIds = new Set();
  const friendlyIds = new Set();
  const kept = [];
  let from = 0;
  for (const { start, end, ref, kind, isLegacy } of findReferences(text)) {
    (isLegacy ? claimIds : friendlyIds).add(ref);
    if (kind === 'activity') continue;
    kept.push(text.slice(from, start));
    from = end;
  }
  kept.push(text.slice(from));
  const cleanText = trimSpace(kept.join('').replace(SPACES, ' '));
  return { cleanText, claimIds: [...claimIds], friendlyIds: [...friendlyIds].filter((id) => !claimIds.has(id)) };
}

/**
 * Where the references of a text stand, for chips; none inside code, in linear time.
 *
 * @param {string} text
 * @returns {FoundReference[]}
 */
export function findReferences(text) {
  if (!text.includes('@') && !text.includes('#')) return [];
  const found = [];
  const nowhere = [text.length, text.length];
  const code = codeRanges(text);
  let [codeStart, codeEnd] = code.next().value ?? nowhere;
  for (const match of text.matchAll(REFERENCE)) {
    while (codeEnd <= match.index) [codeStart, codeEnd] = code.next().value ?? nowhere;
    const reference = match.index < codeStart ? read(match, text) : null;
    if (reference) found.push(reference);
  }
  return found;
}

function read(match, text) {
  const { claim, name, number, activity } = match.groups;
  const start = match.index;
  const written = match[0].slice(0, endWithout('-_', match[0]));
  const place = { start, end: start + written.length };
  if (claim) {
    const ref = claim.slice(0, endWithout('-', claim));
    return ref ? { ...place, ref, kind: 'claim', isLegacy: true } : null;
  }
  if (start > 0 && !MAY_PRECEDE.test(text[start - 1])) return null;
  if (number) return { ...place, ref: `claim_${number}`, kind: 'claim', isLegacy: false };
  if (activity) {
    const isFragment = BEFORE_FRAGMENT.some((before) => text.endsWith(before, start));
    return isFragment ? null : { ...place, ref: written.toLowerCase(), kind: 'activity', isLegacy: false };
  }
  const ref = written.slice(1);
  // The bare words are beginnings of the older form.
  const isName = name && ref.length >= SHORTEST_NAME && !['memory', 'mem'].includes(ref.toLowerCase());
  if (!isName) return null;
  const end = endOfJoin(text, ref, place.end);
  return { start, end, ref: text.slice(start + 1, end), kind: kindOf(ref), isLegacy: false };
}

/** Where the groups end that `&` joins to a name, which ends at `end`: there, where it joins none. */
function endOfJoin(text, name, end) {
  if (!GROUP.test(name)) return end;
  for (let joined = 1; joined < MOST_JOINED; joined += 1) {
    JOINED_NAME.lastIndex = end;
    const further = JOINED_NAME.exec(text)?.[1] ?? '';
    const group = further.slice(0, endWithout('-_', further));
    if (!GROUP.test(group)) break;
    end += group.length + 1;
  }
  return end;
}

/** @param {string} ref @returns {string[]} the kinds of the groups that it joins; of any other reference, its own */
export const joinedKinds = (ref) => ref.replace(/^@/, '').split('&').map(kindOf);

function kindOf(ref) {
  const name = ref.toLowerCase();
  return KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? 'claim';
}

// A pattern anchored at the end would try every start: quadratic for a name of a hundred thousand hyphens.
function endWithout(characters, text) {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1])) end -= 1;
  return end;
}

function trimSpace(text) {
  return text.replace(/^ | $/g, '');
}
