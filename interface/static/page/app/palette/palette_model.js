/** What the palette lists, and in which order. */

/**
 * Something that the palette offers.
 *
 * @typedef {object} Entry
 * @property {string} key
 * @property {'actions'|'conversation'|'conversations'|'settings'|'search'} group
 * @property {string} icon
 * @property {string} label
 * @property {string} [about] a second line
 * @property {string} [words] more that it is found by
 * @property {string[]} [keys] the shortcut that does the same
 * @property {boolean} [isDeep] one of many below another one: offered to who types
 * @property {() => any} run
 * @property {() => any} [runBeside] of conversations: opens it beside the one that is open
 */

const MOST_RECENT = 5;
const MOST_CONVERSATIONS = 8;
const MOST_DEEP = 8;
const KEPT_RECENT = 20;
const MOST_OF = { conversations: MOST_CONVERSATIONS };
const ALWAYS_LAST = 'search';

const folded = (text) => text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
const wordsOf = (text) => folded(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/** What entries are found by, which is worked out once: there may be thousands of conversations. */
const prepared = new WeakMap();

function searchable(entry) {
  if (!prepared.has(entry)) {
    const { label, about = '', words = '' } = entry;
    const text = `${label} ${about} ${words}`;
    prepared.set(entry, { label: folded(label), whole: folded(text), words: wordsOf(text) });
  }
  return prepared.get(entry);
}

/**
 * How well an entry answers what was typed.
 *
 * @param {Entry} entry
 * @param {string} query
 * @returns {number|null} 0 is best: the label begins so; 1: each word begins a word; 2: each word stands somewhere; null: it does not
 */
export function matchOf(entry, query) {
  const { label, whole, words } = searchable(entry);
  const wanted = folded(query.trim());
  if (label.startsWith(wanted)) return 0;
  const asked = wordsOf(query);
  if (asked.length > 0 && asked.every((word) => words.some((each) => each.startsWith(word)))) return 1;
  return wanted.split(/\s+/).every((word) => whole.includes(word)) ? 2 : null;
}

/** @template T @param {T[]} items @param {(item: T) => string} groupOf @returns {Map<string, T[]>} */
function grouped(items, groupOf) {
  const groups = new Map();
  for (const item of items) groups.set(groupOf(item), [...(groups.get(groupOf(item)) ?? []), item]);
  return groups;
}

/** Nobody typed anything: what was used lately comes first. */
function unasked(entries, recent) {
  const places = new Map(recent.map((key, place) => [key, place]));
  const lately = entries.filter(({ key }) => places.has(key)).toSorted((a, b) => places.get(a.key) - places.get(b.key)).slice(0, MOST_RECENT);
  const rest = grouped(entries.filter((entry) => !entry.isDeep && !lately.includes(entry)), ({ group }) => group);
  return [['recent', lately], ...['conversations', 'conversation', 'actions', 'settings'].map((group) => [group, rest.get(group) ?? []])];
}

function asked(entries, query, recent) {
  const place = ({ key }) => (recent.includes(key) ? recent.indexOf(key) : recent.length);
  const found = entries.map((entry) => ({ entry, match: matchOf(entry, query) })).filter(({ match }) => match !== null);
  const sorted = found.toSorted((a, b) => a.match - b.match || place(a.entry) - place(b.entry));
  // The groups come in the order of what fits best in each.
  const groups = grouped(sorted.map(({ entry }) => entry), ({ group }) => group);
  return [...groups].toSorted(([a], [b]) => Number(a === ALWAYS_LAST) - Number(b === ALWAYS_LAST));
}

/** Of what there may be hundreds, the first ones. */
function cut(group, entries) {
  let deep = 0;
  return entries.filter((entry) => !entry.isDeep || ++deep <= MOST_DEEP).slice(0, MOST_OF[group] ?? entries.length);
}

/**
 * @param {Entry[]} entries
 * @param {{query: string, recent: string[]}} wanted `recent`: the keys of what was used, newest first
 * @returns {Array<{group: string, entries: Entry[]}>} the groups that have something in them
 */
export function paletteGroups(entries, { query, recent }) {
  const groups = query.trim() ? asked(entries, query, recent) : unasked(entries, recent);
  return groups.map(([group, members]) => ({ group, entries: cut(group, members) })).filter(({ entries: members }) => members.length > 0);
}

/** @param {string[]} recent @param {string} key what was used now @returns {string[]} */
export const withRecent = (recent, key) => [key, ...recent.filter((each) => each !== key)].slice(0, KEPT_RECENT);

/** @param {object[]} conversations @returns {object[]} the newest first */
export const newestFirst = (conversations) => conversations.toSorted((a, b) => (a.updated_at < b.updated_at ? 1 : -1));
