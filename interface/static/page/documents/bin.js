import { shortTime } from '../core/words/times.js';
import { documentStrings } from '../strings/en/documents.js';
import { tellFailure } from '../ui/notices/attempts.js';
import { element } from '../ui/dom.js';
import { shownInPart } from './shown_in_part.js';

const words = documentStrings;

/**
 * The deleted documents, the latest first, each with a button that brings it back.
 *
 * @param {{documents: object[], total: number}} bin
 * @param {{api: object}} options
 * @returns {HTMLElement[]}
 */
export function deletedDocuments({ documents, total }, { api }) {
  if (documents.length === 0) return [element('p', { class: 'documents-note', text: words.binEmpty })];

  function row({ kept_at: keptAt, path, deleted_at: deletedAt }) {
    const restore = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.restore, 'data-key': keptAt, 'aria-label': words.restoreThis(path), onclick: async () => {
      restore.disabled = true;
      try {
        await api.restore(keptAt);
        const next = node.nextElementSibling ?? node.previousElementSibling;
        node.remove();
        next?.querySelector('button')?.focus();
      } catch (error) {
        restore.disabled = false;
        tellFailure(error, { failed: words.restoreFailed });
      }
    } });
    const node = element('div', { class: 'documents-binned' },
      element('span', {}, element('span', { dir: 'auto', text: path }), element('span', { class: 'documents-note', text: shortTime(deletedAt) })), restore);
    return node;
  }

  const older = total - documents.length;
  return [...shownInPart(documents, row), ...(older > 0 ? [element('p', { class: 'documents-note', text: words.more(older) })] : [])];
}
