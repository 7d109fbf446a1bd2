/** A conversation as a file on the person's own disk. Loaded when one is asked for. */

import { createApi } from '../../core/api.js';
import { createExportApi } from './api.js';
import { exportStrings } from '../../strings/en/export.js';
import { element } from '../../ui/dom.js';
import { showToast, tellWhenSlow } from '../../ui/notices/toast.js';

/** What a conversation can be exported as, in the order in which it is offered: `{id, label}`. */
export const EXPORT_FORMATS = Object.entries(exportStrings.formats).map(([id, label]) => ({ id, label }));

/**
 * Fetches a conversation as a file and hands it to the browser for saving. A failure is told, with a way to try again.
 *
 * @param {object} options
 * @param {string} options.conversationId
 * @param {string} options.format an id of `EXPORT_FORMATS`
 * @param {object} [options.api]
 * @returns {Promise<boolean>} whether the file came
 */
export function exportConversation({ conversationId, format, api = createApi() }) {
  return saved(() => createExportApi(api).exportConversation(conversationId, format));
}

/**
 * Fetches a file and hands it to the browser for saving. A failure is told, with a way to try again.
 *
 * @param {() => Promise<{blob: Blob, name: string}>} fetchFile
 * @returns {Promise<boolean>} whether the file came
 */
export async function saved(fetchFile) {
  const settle = tellWhenSlow(exportStrings.running);
  try {
    const { blob, name } = await fetchFile();
    settle();
    save(blob, name);
    showToast(exportStrings.done(name), { kind: 'success' });
    return true;
  } catch (error) {
    settle();
    showToast(exportStrings.failed(error.message), {
      kind: 'error', actionLabel: exportStrings.again, onAction: () => saved(fetchFile),
    });
    return false;
  }
}

/** Hands a file to the browser for saving. */
export function save(blob, name) {
  const href = URL.createObjectURL(blob);
  const link = element('a', { href, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  // The browser has taken the address by the next turn of its loop; Safari takes a little longer.
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
