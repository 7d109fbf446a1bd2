/** What the Memories panel shows, as the address of the page says it: tab, search, filters, page. */

import { panelIn } from '../core/address.js';

export const PANEL = 'memories';
export const TABS = ['memories', 'contexts', 'entities', 'tags', 'conflicts', 'add', 'history', 'transfer'];
export const STRATEGIES = ['hybrid', 'fts', 'embedding', 'rewrite', 'mapreduce'];
export const STATUSES = ['active', 'contested', 'historical', 'superseded', 'retracted', 'draft', 'expired', 'all'];
export const PAGE_SIZE = 50;

/** Name in the address, and the server's parameter; one memory alone is asked for by its own route. */
const FILTERS = {
  type: 'claim_type', domain: 'context_domain', status: 'status', tag: 'tag', entity: 'entity', context: 'context', group: 'group', pinned: 'pinned', claim: null,
};

const DEFAULTS = {
  tab: 'memories', q: '', strategy: 'hybrid', type: '', domain: '', status: 'active', tag: '', entity: '', context: '', group: '', pinned: '', claim: '', open: '', document: '', page: 1,
};

/**
 * @typedef {typeof DEFAULTS} PanelState `tag`, `entity` and `context` are ids or friendly ids; `group` is several friendly ids joined by `&`; `pinned` is '' or 'true'; `claim` is one memory, shown alone; `open` is the context that the
 *   Contexts tab shows; `document` is the path of one whose text the tab of texts is filled with; `page` counts from 1
 */

/** @returns {PanelState} */
export function initialState() {
  return { ...DEFAULTS };
}

/**
 * @param {string} search of the address, `?panel=memories&…`
 * @returns {PanelState|null} null: the address shows no such panel
 */
export function parsePanel(search) {
  if (panelIn(search) !== PANEL) return null;
  const given = new URLSearchParams(search);
  const state = initialState();
  for (const name of Object.keys(DEFAULTS)) if (given.has(name)) state[name] = given.get(name);
  const page = Number(state.page);
  state.page = Number.isInteger(page) && page > 0 ? page : 1;
  if (!TABS.includes(state.tab)) state.tab = DEFAULTS.tab;
  if (!STRATEGIES.includes(state.strategy)) state.strategy = DEFAULTS.strategy;
  if (state.pinned !== 'true') state.pinned = '';
  if (!STATUSES.includes(state.status)) state.status = DEFAULTS.status;
  return state;
}

/**
 * @param {PanelState} state
 * @returns {string} the search part of an address; what is as usual is left out
 */
export function formatPanel(state) {
  const said = Object.keys(DEFAULTS).filter((name) => state[name] !== DEFAULTS[name]);
  return `?${new URLSearchParams([['panel', PANEL], ...said.map((name) => [name, String(state[name])])])}`;
}

/** The state after a change: what changes which memories are shown shows the first page of them. */
export function changed(state, changes) {
  const next = { ...state, ...changes };
  const others = Object.keys(changes).some((name) => name !== 'page' && next[name] !== state[name]);
  if (others && !('page' in changes)) next.page = 1;
  return next;
}

/**
 * @param {PanelState} state
 * @param {number} [limit]
 * @returns {object} parameters of `GET /pkb/claims`
 */
export function claimParams(state, limit = PAGE_SIZE) {
  const params = { limit, offset: (state.page - 1) * limit };
  for (const [name, parameter] of Object.entries(FILTERS)) if (parameter && state[name]) params[parameter] = state[name];
  const query = state.q.trim();
  return query ? { ...params, query, strategy: state.strategy } : params;
}

/** The filters that are set. @param {PanelState} state @returns {Array<{name: string, value: string}>} */
export function activeFilters(state) {
  return Object.keys(FILTERS)
    .filter((name) => state[name] !== DEFAULTS[name])
    .map((name) => ({ name, value: state[name] }));
}

/** Whether the state asks for fewer than all memories. @param {PanelState} state */
export function isNarrowed(state) {
  return state.q.trim() !== '' || activeFilters(state).length > 0;
}

const isAmong = (things, idName, name) => (things ?? []).some((thing) => thing[idName] === name || thing.friendly_id === name);

/** Whether a memory passes a filter, by the filter's name. */
const PASSES = {
  claim: (claim, name) => [claim.claim_id, claim.friendly_id, String(claim.claim_number)].includes(name),
  status: ({ status }, wanted) => wanted === 'all' || status === wanted || (wanted === 'active' && status === 'contested'),
  type: (claim, name) => (claim.claim_types ?? [claim.claim_type]).includes(name),
  domain: (claim, name) => (claim.context_domains ?? [claim.context_domain]).includes(name),
  pinned: ({ pinned }) => Boolean(pinned),
  tag: ({ tags }, name) => isAmong(tags, 'tag_id', name),
  entity: ({ entities }, name) => isAmong(entities, 'entity_id', name),
  context: ({ contexts }, name) => isAmong(contexts, 'context_id', name),
  group: (claim, names) => names.split('&').every((name) => isFiledIn(claim, name)),
};

/** Whether a memory is in a group. @param {object} claim @param {string} name of the group: a friendly id */
function isFiledIn(claim, name) {
  const [, word, kind] = /^(.+)_(context|entity|tag|domain)$/i.exec(name) ?? [];
  if (!kind) return false;
  return kind.toLowerCase() === 'domain' ? PASSES.domain(claim, word.toLowerCase()) : PASSES[kind.toLowerCase()](claim, name.toLowerCase());
}

/**
 * Whether a list with these filters shows a memory, as far as the memory itself tells; the words of a search are not looked at.
 *
 * @param {PanelState} state
 * @param {object} claim
 */
export function isShownBy(state, claim) {
  const names = state.claim ? ['claim'] : Object.keys(PASSES).filter((name) => state[name]);
  return names.every((name) => PASSES[name](claim, state[name]));
}

/** The changes that take search and filters away. */
export function withoutFilters() {
  const names = ['q', ...Object.keys(FILTERS)];
  return Object.fromEntries(names.map((name) => [name, DEFAULTS[name]]));
}

/** The change that takes one filter away. @param {string} name */
export function withoutFilter(name) {
  return { [name]: DEFAULTS[name] };
}

/**
 * Which part of the whole a page is.
 *
 * @param {{page: number, total: number, shown: number, size?: number}} place
 * @returns {{first: number, last: number, pages: number}} `first` 0 where nothing is shown
 */
export function pageRange({ page, total, shown, size = PAGE_SIZE }) {
  const first = shown ? (page - 1) * size + 1 : 0;
  return { first, last: shown ? first + shown - 1 : 0, pages: Math.max(1, Math.ceil(total / size)) };
}

/**
 * The changes that show something that is named elsewhere on the page.
 *
 * @param {{kind: 'claim'|'context'|'entity'|'tag'|'domain'|'group', id: string}} target
 */
export function showing({ kind, id }) {
  if (kind === 'context') return { ...DEFAULTS, tab: 'contexts', open: id };
  return { ...DEFAULTS, [kind]: id };
}

/** The state that takes memories from a document. @param {string} path */
export const learningFrom = (path) => ({ ...DEFAULTS, tab: 'add', document: path });

/**
 * What a filter's value is called, where the memories that it let through tell.
 *
 * @param {{name: string, value: string}} filter
 * @param {object[]} claims
 * @returns {string|null}
 */
export function nameIn({ name, value }, claims) {
  if (name === 'claim') return claims.find(({ claim_id: id }) => id === value)?.friendly_id ?? null;
  const things = { tag: 'tags', entity: 'entities', context: 'contexts' }[name];
  if (!things) return null;
  const all = claims.flatMap((claim) => claim[things] ?? []);
  return all.find((thing) => thing.friendly_id === value || thing[`${name}_id`] === value)?.name ?? null;
}
