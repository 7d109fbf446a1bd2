/** Conversations as files: the route over `core/api.js`. Loaded by what needs it. */

const EXTENDED = /filename\*\s*=\s*UTF-8''([^;\s]+)/i;
const PLAIN = /filename\s*=\s*"((?:[^"\\]|\\.)*)"/i;

/**
 * The name that a `Content-Disposition` header gives a file (RFC 6266): the extended one, else the plain one.
 *
 * @param {string|null} header
 * @param {string} otherwise for a header that names none
 * @returns {string} without anything that could lead into another folder
 */
export function fileNameIn(header, otherwise) {
  const name = decoded(EXTENDED.exec(header ?? '')?.[1]) ?? PLAIN.exec(header ?? '')?.[1]?.replace(/\\(.)/g, '$1');
  return name?.split(/[/\\]/).at(-1) || otherwise;
}

function decoded(text) {
  try {
    return text === undefined ? null : decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** @param {ReturnType<typeof import('../../core/api.js').createApi>} api */
export function createExportApi({ open }) {
  return {
    /**
     * With the files of its messages: where it has any, the file is a ZIP.
     *
     * @param {string} conversationId
     * @param {'markdown'|'html'|'json'|'bundle'} format
     * @returns {Promise<{blob: Blob, name: string}>}
     */
    async exportConversation(conversationId, format) {
      const path = `/export_conversation/${encodeURIComponent(conversationId)}`;
      const response = await open('GET', path, { query: { format, files: true }, accept: '*/*' });
      return { blob: await response.blob(), name: fileNameIn(response.headers.get('Content-Disposition'), 'conversation') };
    },
  };
}
