/**
 * The addresses of the page: `/interface/<conversation_id>?message=<message_id>`, with `panel=<name>&…` for a panel, and permalinks
 * `/r/<fid>/<hash>`. The browser's history is written and followed here alone.
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

/** What stands beside the conversation, as parameters of the address; '' for nothing. */
let besideNow = () => '';

/**
 * Names what stands beside the conversation, so that it stays when another conversation is opened.
 *
 * @param {() => string} params such as `panel=knowledge&tab=tags`
 */
export function nameBeside(params) {
  besideNow = params;
}

/** @param {string} search of an address @returns {string} the name of the panel; '' for none */
const panelIn = (search) => new URLSearchParams(search).get('panel') ?? '';

/** The panel that the address names; '' for none. */
export const panelInAddress = () => panelIn(location.search);

const whereNow = () => ({ place: location.pathname, panel: panelInAddress() });
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
  const isPanelAlone = from.place === to.place && Boolean(from.panel || to.panel);
  for (const listener of listeners) listener({ isPanelAlone, closesPanel: isPanelAlone && !to.panel });
}

/**
 * Calls the listener when the person went back or forward.
 *
 * @param {(step: {isPanelAlone: boolean, closesPanel: boolean}) => void} listener `isPanelAlone`: the conversation is the same,
 *   only the panel is another one, or has come or gone; `closesPanel`: it has gone
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
  write(location.pathname + search, replace ? 'replace' : 'push');
}

/** The address names the conversation alone; going back does not lead to the panel that was closed. */
export const leavePanel = () => writePanel('', { replace: true });

/**
 * Says in the browser's address what is open.
 *
 * @param {'push'|'replace'|'none'} keep whether the address of before is gone back to
 * @param {string|null} conversationId
 * @param {string|null} messageId
 */
export function writeAddress(keep, conversationId, messageId) {
  const plain = formatAddress(conversationId, messageId);
  const beside = besideNow();
  write(beside ? `${plain}${plain.includes('?') ? '&' : '?'}${beside}` : plain, keep);
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
