import { shareStrings } from '../../strings/en/sharing.js';
import { element } from '../../ui/dom.js';

const words = shareStrings.dialog.files;

/**
 * Which files of the conversation the link shows. What is ticked stays so while the dialog shows other things.
 */
export function createFileChoice() {
  let files = [];
  let chosen = new Set();

  function row({ attachment_id: id, name, size }) {
    const box = element('input', { type: 'checkbox', class: 'form-check-input' });
    box.checked = chosen.has(id);
    box.addEventListener('change', () => chosen[box.checked ? 'add' : 'delete'](id));
    return element('label', { class: 'form-check' }, box,
      element('span', { class: 'form-check-label', dir: 'auto', text: name }), element('span', { class: 'share-file-size', text: shareStrings.size(size) }));
  }

  return {
    /** Takes over which files there are, and which of them the link shows by now. */
    know(known) {
      files = known;
      chosen = new Set(known.filter(({ is_shared: isShared }) => isShared).map(({ attachment_id: id }) => id));
    },
    /** @returns {string[]} the ids of those that are ticked, in order */
    read: () => files.map(({ attachment_id: id }) => id).filter((id) => chosen.has(id)),
    /** @returns {HTMLElement[]} none where there are no files */
    nodes() {
      if (files.length === 0) return [];
      const legend = element('legend', { class: 'field-label', text: words.which });
      const note = element('p', { class: 'share-file-note', text: words.note });
      return [element('fieldset', { class: 'share-files' }, legend, note, element('div', { class: 'share-file-rows' }, ...files.map(row)))];
    },
  };
}
