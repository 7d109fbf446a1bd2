import { strings } from '../lib/strings.js';
import { element } from './dom.js';

/**
 * A field in the place of a message's text.
 *
 * @param {string} text
 * @param {{onSave: (text: string, again: () => void) => Promise<boolean>, onClose: () => void}} options `onSave` tells whether it was
 *   saved; `again` saves what is typed by then
 * @returns {HTMLElement}
 */
export function createEditor(text, { onSave, onClose }) {
  const field = element('textarea', { class: 'message-editor-field', 'aria-label': strings.edit.label });
  field.value = text;
  const save = element('button', { type: 'submit', class: 'btn btn-primary btn-sm', text: strings.edit.save });
  const cancel = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: strings.edit.cancel, onclick: onClose });
  const form = element('form', { class: 'message-editor' }, field,
    element('div', { class: 'message-editor-buttons' }, cancel, save));

  const again = () => form.isConnected && form.requestSubmit();

  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    save.disabled = true;
    const saved = field.value === text || (field.value.trim() !== '' && (await onSave(field.value, again)));
    save.disabled = false;
    if (saved) onClose();
    else field.focus();
  });
  form.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') onClose();
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return form;
}
