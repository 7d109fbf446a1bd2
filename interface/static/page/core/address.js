/**
 * The addresses of the page: `/interface/<conversation_id>?message=<message_id>`, with `beside=<conversation_id>` for a second
 * conversation, `panel=<name>&…` for a panel, and permalinks `/r/<fid>/<hash>`. The browser's history is written and followed here alone.
 */

/**
 * @param {{pathname: string, search: string}} location
 * @returns {{conversationId: string|null, messageId: string|null}}
 */
export function parseAddress({ pathname, search }) {
  const found = /^\/interface\/([^/]+)\/?$/.exec(pathname);
  if (!found) return { conversationId: null, messageId: null };
  let conversationId;
  try {
    conversationId = decodeURIComponent(found[1]);
  } catch {
    return { conversationId: null, messageId: null };
  }
  return { conversationId, messageId: new URLSearchParams(search).get('message') };
}

/**
 * @param {string|null} conversationId
 * @param {string|null} [messageId]
 * @returns {string}
 */
export function formatAddress(conversationId, messageId = null) {
  if (!conversationId) return '/interface/';
  const query = messageId ? `?message=${encodeURIComponent(messageId)}` : '';
  return `/interface/${encodeURIComponent(conversationId)}${query}`;
}

/** What tells of each panel that may stand beside the conversation. */
const besides = new Set();

/** The panel that stands beside the conversation, as parameters of the address; '' for none. */
const panelNow = () => [...besides].map((params) => params()).find(Boolean) ?? '';

/**
 * Names a panel while it stands beside the conversation, so that it stays when another conversation is opened.
 *
 * @param {() => string} params such as `panel=memories&tab=tags`
 */
export function nameBeside(params) {
  besides.add(params);
}

const queryOf = (...params) => {
  const given = params.filter(Boolean).join('&');
  return given ? `?${given}` : '';
};

/** Names of panels in addresses that people may have kept from an earlier version. */
const FORMER_PANELS = { knowledge: 'memories' };

/** @param {string} search of an address @returns {string} the name of the panel; '' for none */
export function panelIn(search) {
  const name = new URLSearchParams(search).get('panel') ?? '';
  return Object.hasOwn(FORMER_PANELS, name) ? FORMER_PANELS[name] : name;
}

/** @param {string} search of an address @returns {string|null} the id of the second conversation; null: there is one alone */
export const besideIn = (search) => new URLSearchParams(search).get('beside') || null;

const besideParam = (conversationId) => (conversationId ? `beside=${encodeURIComponent(conversationId)}` : '');

/** The panel that the address names; '' for none. */
export const panelInAddress = () => panelIn(location.search);

/** The second conversation that the address names; null for none. */
export const besideInAddress = () => besideIn(location.search);

const whereNow = () => ({ place: location.pathname, panel: panelInAddress(), beside: besideInAddress() });
/** Where the page was before the person went back or forward. */
let before = globalThis.location ? whereNow() : null;

function write(address, keep) {
  if (keep === 'none' || address === location.pathname + location.search) return;
  history[keep === 'push' ? 'pushState' : 'replaceState'](null, '', address);
  before = whereNow();
}

const listeners = new Set();

function tellStep() {
  const [from, to] = [before, whereNow()];
  before = to;
  const isSame = from.place === to.place;
  const isPanelAlone = isSame && from.beside === to.beside && Boolean(from.panel || to.panel);
  const isBesideAlone = isSame && from.beside !== to.beside;
  for (const listener of listeners) listener({ isPanelAlone, isBesideAlone, closesPanel: isPanelAlone && !to.panel });
}

/**
 * Calls the listener when the person went back or forward.
 *
 * @param {(step: {isPanelAlone: boolean, isBesideAlone: boolean, closesPanel: boolean}) => void} listener `isPanelAlone`: the
 *   conversations are the same, only the panel is another one, or has come or gone; `closesPanel`: it has gone; `isBesideAlone`:
 *   the first conversation is the same, the second is another one, or has come or gone
 */
export function followAddress(listener) {
  if (listeners.size === 0) addEventListener('popstate', tellStep);
  listeners.add(listener);
}

/**
 * Says in the browser's address what a panel shows.
 *
 * @param {string} search such as `?panel=search&q=…`
 * @param {{replace?: boolean}} [options] `replace`: the address of before is not gone back to
 */
export function writePanel(search, { replace = false } = {}) {
  write(location.pathname + queryOf(besideParam(besideInAddress()), search.replace(/^\?/, '')), replace ? 'replace' : 'push');
}

/** The address names the conversations alone; going back does not lead to the panel that was closed. */
export const leavePanel = () => writePanel('', { replace: true });

function addressOf(conversationId, messageId, besideId) {
  const [path, query = ''] = formatAddress(conversationId, messageId).split('?');
  return path + queryOf(query, besideParam(besideId), panelNow());
}

/**
 * Says in the browser's address what is open; a second conversation stays.
 *
 * @param {'push'|'replace'|'none'} keep whether the address of before is gone back to
 * @param {string|null} conversationId
 * @param {string|null} messageId
 */
export function writeAddress(keep, conversationId, messageId) {
  write(addressOf(conversationId, messageId, besideInAddress()), keep);
}

/**
 * Says in the browser's address which conversation stands beside the first one.
 *
 * @param {'push'|'replace'|'none'} keep as of `writeAddress`
 * @param {string|null} besideId null: none any more
 */
export function writeBeside(keep, besideId) {
  write(addressOf(parseAddress(location).conversationId, null, besideId), keep);
}

/** Says in the browser's address that the two conversations changed places. */
export function swapAddress() {
  write(addressOf(besideInAddress(), null, parseAddress(location).conversationId), 'push');
}

/**
 * Names a conversation that has come into being under what is open: a panel that was opened meanwhile stays.
 *
 * @param {'push'|'replace'} keep as of `writeAddress`
 * @param {string} conversationId
 */
export function enterAddress(keep, conversationId) {
  if (panelInAddress()) write(formatAddress(conversationId) + location.search, keep);
  else writeAddress(keep, conversationId, null);
}

/**
 * @param {string} origin
 * @param {string} friendlyId
 * @param {string|number} hashOrIndex
 * @returns {string}
 */
export function permalink(origin, friendlyId, hashOrIndex) {
  return `${origin}/r/${encodeURIComponent(friendlyId)}/${encodeURIComponent(hashOrIndex)}`;
}
