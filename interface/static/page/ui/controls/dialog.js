/** Questions to the person, as modal `<dialog>`s: the browser keeps the focus inside and gives it back afterwards. */

import { shellStrings } from '../../strings/en/shell.js';
import { element } from '../dom.js';
import { placeToasts } from '../notices/toast.js';

let dialogs = 0;

/** Closes the dialogs of a part that goes. @param {string} className theirs */
export function closeDialogs(className) {
  for (const dialog of document.querySelectorAll(`dialog.${className}[open]`)) dialog.close();
}

/** Whether a question to the person is open: keys are for it then. */
export const isDialogOpen = () => document.querySelector('dialog[open]') !== null;

/**
 * The browser gives nobody the focus where the list with `opener` was drawn anew meanwhile: what has its name there gets it. And
 * Chromium gives a text area the focus back without its caret: keys would do nothing there.
 */
function giveFocusBack(opener) {
  const name = opener?.isConnected === false && opener.getAttribute('aria-label');
  if (name) document.querySelector(`[aria-label="${CSS.escape(name)}"]`)?.focus();
  const field = document.activeElement;
  if (field instanceof HTMLTextAreaElement) field.setSelectionRange(field.selectionStart, field.selectionEnd);
}

/**
 * Show a modal dialog. The browser keeps the focus inside and gives it back; Escape closes it where `mayClose` agrees.
 *
 * @param {{title: string, content: Node[], buttons?: Node[], className?: string, mayClose?: () => boolean|Promise<boolean>,
 *          onSubmit?: () => void, validates?: boolean}} options `validates`: the browser checks what
 *   was entered before it is submitted
 * @returns {{node: HTMLDialogElement, form: HTMLFormElement, close: (answer?: any) => void, closed: Promise<any>}}
 *   `closed` has what `close` was given; undefined when it was dismissed
 */
export function openDialog({ title, content, buttons = [], className = '', mayClose = () => true, onSubmit = () => {}, validates = false }) {
  dialogs += 1;
  const heading = element('h2', { class: 'dialog-title', text: title, id: `dialog-title-${dialogs}` });
  const foot = buttons.length ? element('div', { class: 'dialog-buttons' }, ...buttons) : null;
  const form = element('form', { class: 'dialog-form' }, heading, ...content, foot);
  form.noValidate = !validates;
  const node = element('dialog', { class: `dialog ${className}`.trim(), 'aria-labelledby': heading.id }, form);
  const opener = document.activeElement;
  let answer;

  function close(given) {
    answer = given;
    node.close();
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    onSubmit();
  });
  node.addEventListener('cancel', async (event) => {
    // Choosing a file can be cancelled too.
    if (event.target !== node) return;
    event.preventDefault();
    if (await mayClose()) close();
  });
  // Keys in a dialog are not shortcuts of what is below.
  node.addEventListener('keydown', (event) => event.stopPropagation());
  const closed = new Promise((resolve) => {
    node.addEventListener('close', () => {
      placeToasts();
      node.remove();
      giveFocusBack(opener);
      resolve(answer);
    });
  });
  document.body.append(node);
  node.showModal();
  placeToasts();
  return { node, form, close, closed };
}

/** Ask a question with a button that confirms it. @returns {Promise<boolean>} whether it was confirmed */
function ask({ title, content, confirmLabel, danger = false, cancellable = true }) {
  const confirm = element('button', { class: `btn ${danger ? 'btn-danger' : 'btn-primary'}`, text: confirmLabel, type: 'submit' });
  const cancel = element('button', { class: 'btn btn-quiet', text: shellStrings.dialog.cancel, type: 'button', onclick: () => dialog.close(false) });
  const dialog = openDialog({ title, content, buttons: cancellable ? [cancel, confirm] : [confirm], validates: true, onSubmit: () => dialog.close(true) });
  return dialog.closed.then(Boolean);
}

/**
 * A field of a dialog: its label above it, a hint below it.
 *
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export function labelled(label, control, hint = '') {
  dialogs += 1;
  control.id ||= `dialog-field-${dialogs}`;
  if (hint) control.setAttribute('aria-describedby', `${control.id}-hint`);
  return element('div', { class: 'field' }, element('label', { class: 'field-label', for: control.id, text: label }), control,
    hint ? element('p', { class: 'field-hint', id: `${control.id}-hint`, text: hint }) : null);
}

/**
 * Ask for one line of text.
 *
 * @param {{title: string, label: string, value?: string, confirmLabel?: string, maxLength?: number, mayBeEmpty?: boolean}} question
 * @returns {Promise<string|null>} the text without white space around it; null when nothing was given, but '' where it may be empty
 */
export async function askText({ title, label, value = '', confirmLabel = shellStrings.dialog.save, maxLength = 200, mayBeEmpty = false }) {
  const input = element('input', { class: 'form-control', type: 'text', value, maxlength: maxLength, required: !mayBeEmpty });
  input.autocomplete = 'off';
  const field = element('label', { class: 'field' }, element('span', { class: 'field-label', text: label }), input);
  const answer = ask({ title, content: [field], confirmLabel });
  input.focus();
  input.select();
  if (!(await answer)) return null;
  const text = input.value.trim();
  return text || mayBeEmpty ? text : null;
}

/**
 * Ask for the password before something that can't be undone.
 *
 * @param {{title: string, text: string, label: string, confirmLabel: string}} question
 * @returns {Promise<string|null>} null when it was not given
 */
export async function askPassword({ title, text, label, confirmLabel }) {
  const input = element('input', { class: 'form-control', type: 'password', required: true });
  input.autocomplete = 'current-password';
  const field = element('label', { class: 'field' }, element('span', { class: 'field-label', text: label }), input);
  const content = [element('p', { class: 'dialog-text', text }), field];
  const answer = ask({ title, content, confirmLabel, danger: true });
  input.focus();
  return (await answer) ? input.value : null;
}

/**
 * Ask whether to go on.
 *
 * @param {{title: string, text?: string, confirmLabel?: string, danger?: boolean}} question
 * @returns {Promise<boolean>}
 */
export async function confirmAction({ title, text = '', confirmLabel = shellStrings.dialog.confirm, danger = true }) {
  const content = text ? [element('p', { class: 'dialog-text', text })] : [];
  return ask({ title, content, confirmLabel, danger });
}

/**
 * Show a text that the person may want to take along, selected, with a button that copies it where `copy` is given.
 *
 * @param {{title: string, text?: string, value: string, label: string, closeLabel: string,
 *          copy?: {label: string, onCopy: () => void}}} message
 * @returns {Promise<void>}
 */
export async function showValue({ title, text = '', value, label, closeLabel, copy }) {
  const field = element('input', { class: 'form-control mono', type: 'text', value, readonly: true });
  field.setAttribute('aria-label', label);
  const content = [...(text ? [element('p', { class: 'dialog-text', text })] : []), field];
  if (copy) {
    const button = element('button', { class: 'btn btn-quiet dialog-copy', type: 'button', text: copy.label });
    button.addEventListener('click', copy.onCopy);
    content.push(button);
  }
  const closed = ask({ title, content, confirmLabel: closeLabel, cancellable: false });
  field.focus();
  field.select();
  await closed;
}
