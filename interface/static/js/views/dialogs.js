/** Questions to the person, as modal `<dialog>`s: the browser keeps the focus inside and gives it back afterwards. */

import { shellStrings } from '../lib/shell_strings.js';

let dialogs = 0;

function element(tag, { className, text, ...properties } = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  node.append(...children);
  return node;
}

/**
 * Show a dialog with a heading, content, and a row of buttons; resolves with the value of the button that closed it,
 * '' when it was dismissed.
 */
function ask({ title, content, confirmLabel, danger = false, cancellable = true }) {
  dialogs += 1;
  const heading = element('h2', { className: 'dialog-title', text: title, id: `dialog-title-${dialogs}` });
  const confirm = element('button', {
    className: `btn ${danger ? 'btn-danger' : 'btn-primary'}`,
    text: confirmLabel,
    type: 'submit',
    value: 'confirm',
  });
  const buttons = element('div', { className: 'dialog-buttons' });
  if (cancellable) {
    const cancel = element('button', { className: 'btn btn-quiet', text: shellStrings.dialog.cancel, type: 'button' });
    cancel.addEventListener('click', () => dialog.close(''));
    buttons.append(cancel);
  }
  buttons.append(confirm);
  const form = element('form', { method: 'dialog', className: 'dialog-form' }, heading, ...content, buttons);
  const dialog = element('dialog', { className: 'dialog' }, form);
  dialog.setAttribute('aria-labelledby', heading.id);

  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * Ask for one line of text.
 *
 * @param {{title: string, label: string, value?: string, confirmLabel?: string, maxLength?: number}} question
 * @returns {Promise<string|null>} the text without white space around it; null when nothing was given
 */
export async function askText({ title, label, value = '', confirmLabel = shellStrings.dialog.save, maxLength = 200 }) {
  const input = element('input', { className: 'form-control', type: 'text', value, maxLength, required: true });
  input.autocomplete = 'off';
  const field = element('label', { className: 'field' }, element('span', { className: 'field-label', text: label }), input);
  const answer = ask({ title, content: [field], confirmLabel });
  input.focus();
  input.select();
  const text = (await answer) === 'confirm' ? input.value.trim() : '';
  return text || null;
}

/**
 * Ask whether to go on.
 *
 * @param {{title: string, text?: string, confirmLabel?: string, danger?: boolean}} question
 * @returns {Promise<boolean>}
 */
export async function confirmAction({ title, text = '', confirmLabel = shellStrings.dialog.confirm, danger = true }) {
  const content = text ? [element('p', { className: 'dialog-text', text })] : [];
  return (await ask({ title, content, confirmLabel, danger })) === 'confirm';
}

/**
 * Show a text that the person may want to take along, selected.
 *
 * @param {{title: string, text?: string, value: string, label: string, closeLabel: string}} message
 * @returns {Promise<void>}
 */
export async function showValue({ title, text = '', value, label, closeLabel }) {
  const field = element('input', { className: 'form-control mono', type: 'text', value, readOnly: true });
  field.setAttribute('aria-label', label);
  const content = [...(text ? [element('p', { className: 'dialog-text', text })] : []), field];
  const closed = ask({ title, content, confirmLabel: closeLabel, cancellable: false });
  field.focus();
  field.select();
  await closed;
}
