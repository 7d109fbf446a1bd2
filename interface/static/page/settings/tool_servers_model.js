/** The form that joins a tool server: what of it is sent. */

/** The header that carries a key as a bearer token. */
export const USUAL_HEADER = 'Authorization';

/** @typedef {{name: string, url: string, key: string, header: string}} ServerForm `header`: of the request, which carries the key */

/**
 * @param {string} typed
 * @returns {string} a name that the server takes, as like to what was typed as can be; '' where nothing of it can be used
 */
export function nameOf(typed) {
  return typed.trim().toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^[^a-z]+/, '').slice(0, 31);
}

/** @param {ServerForm} form @returns {object} the body of `POST /api/tool_servers` */
export function bodyOf({ name, url, key, header }) {
  const secret = key.trim();
  const server = { name: nameOf(name), url: url.trim() };
  if (!secret) return server;
  const sentAs = header.trim();
  if (!sentAs || sentAs.toLowerCase() === USUAL_HEADER.toLowerCase()) return { ...server, token: secret.replace(/^bearer\s+/i, '') };
  return { ...server, headers: { [sentAs]: secret } };
}
