/** Shows a file that the server has stored: a picture, or its text page by page. Loaded with the first one that is opened. */

import { composerStrings } from '../../strings/en/composer.js';
import { openDialog } from '../../ui/controls/dialog.js';
import { element } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';

const words = composerStrings.files;

/** @param {string} id @returns {string} where the file lies as it was uploaded */
const addressOf = (id) => `/attachments/${encodeURIComponent(id)}`;

/** The text of a file with buttons for its pages. */
function createPages({ attachment_id: id, pages, problem }, api) {
  const text = element('pre', { class: 'file-contents', tabindex: '0', role: 'region', 'aria-label': words.contents, dir: 'auto' });
  const place = element('span', { role: 'status' });
  const turner = (symbol, label, by) => element('button', {
    type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick: () => show(page + by),
  }, icon(symbol));
  const previous = turner('arrow-left', words.previousPage, -1);
  const next = turner('arrow-right', words.nextPage, 1);
  const last = pages ?? 1;
  let page = 1;

  async function show(wanted) {
    page = wanted;
    previous.disabled = page <= 1;
    next.disabled = page >= last;
    place.textContent = words.page(page, last);
    const found = await api.aboutFileText(id, wanted).catch((error) => ({ text: error.message }));
    // Somebody may have turned the page meanwhile.
    if (wanted !== page) return;
    text.textContent = found.text || words.noText(problem);
    text.scrollTop = 0;
  }

  show(1);
  return last > 1 ? [element('p', { class: 'file-pages' }, previous, place, next), text] : [text];
}

/**
 * @param {{attachment_id: string, name: string, kind: string, width?: number, height?: number, pages?: number, problem?: string}} file
 * @param {object} api
 */
export function openViewer(file, api) {
  const close = element('button', { type: 'submit', class: 'btn btn-primary', text: composerStrings.close });
  const save = element('a', { class: 'btn', href: addressOf(file.attachment_id), download: file.name, text: words.save });
  const content = file.kind === 'image'
    ? [element('img', { class: 'file-picture', src: `${addressOf(file.attachment_id)}?form=picture`, alt: file.name })]
    : createPages(file, api);
  const about = element('p', { class: 'composer-popup-note', text: words.about(file) });
  const dialog = openDialog({ title: file.name, content: [about, ...content], buttons: [save, close], className: 'file-dialog', onSubmit: () => dialog.close() });
  close.focus();
}
