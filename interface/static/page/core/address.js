/** The addresses of the page: `/interface/<conversation_id>?message=<message_id>`, and permalinks `/r/<fid>/<hash>`. */

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
  const address = beside ? `${plain}${plain.includes('?') ? '&' : '?'}${beside}` : plain;
  if (keep === 'none' || address === location.pathname + location.search) return;
  history[keep === 'push' ? 'pushState' : 'replaceState'](null, '', address);
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
