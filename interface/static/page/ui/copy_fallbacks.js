import { bring } from '../core/api.js';
import { addCopyFallback, copyText } from '../core/clipboard.js';
import { strings } from '../strings/en/conversation.js';
import { element } from './dom.js';

function copyBySelection(text) {
  const field = element('textarea', { class: 'visually-hidden', 'aria-hidden': 'true', tabindex: '-1', readonly: true });
  field.value = text;
  const focused = document.activeElement;
  // Inside an open dialog only what belongs to it can be focused.
  (focused?.closest?.('dialog') ?? document.body).append(field);
  field.select();
  try {
    return document.execCommand('copy');
  } catch {
    return false;
  } finally {
    field.remove();
    focused?.focus?.({ preventScroll: true });
  }
}

async function showSelected(text, { isShown }) {
  if (isShown) return false;
  const { showValue } = await bring(() => import('./controls/dialog.js'));
  const { manualTitle, manualHelp, close } = strings.copy;
  await showValue({ title: manualTitle, text: manualHelp, value: text, label: manualTitle, closeLabel: close });
  return false;
}

/** What copies where the browser refuses the clipboard: selecting, and at last the person's own hands. */
export function installCopyFallbacks() {
  addCopyFallback(copyBySelection);
  addCopyFallback(showSelected);
}

const SHOWN_MS = 1200;
const restoring = new WeakMap();

/**
 * Copies, and lets the element say so for a moment. However often it is clicked, it ends as it was.
 *
 * @param {string} text
 * @param {HTMLElement} label whose text says "Copied!" meanwhile
 * @param {string} said
 */
export async function copyAndSay(text, label, said) {
  if (!(await copyText(text))) return;
  const before = restoring.get(label) ?? { text: label.textContent };
  clearTimeout(before.timer);
  label.textContent = said;
  label.toggleAttribute('data-said', true);
  before.timer = setTimeout(() => {
    restoring.delete(label);
    label.removeAttribute('data-said');
    label.textContent = before.text;
  }, SHOWN_MS);
  restoring.set(label, before);
}

/** Gives a label its text, also one that says "Copied!" just now: it then returns to the new text. */
export function setLabel(label, text) {
  const pending = restoring.get(label);
  if (pending) pending.text = text;
  else if (label.textContent !== text) label.textContent = text;
}
