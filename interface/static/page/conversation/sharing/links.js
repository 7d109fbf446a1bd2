/** What the dialog and the list of shares have in common. */

import { copyText } from '../../core/clipboard.js';
import { shareStrings } from '../../strings/en/sharing.js';
import { confirmAction } from '../../ui/controls/dialog.js';
import { element } from '../../ui/dom.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { showToast } from '../../ui/notices/toast.js';

const words = shareStrings.withdraw;

/** @returns {Promise<void>} when what is shown has its looks */
export const loadShareStyle = () => addPanelStyle('conversation/sharing/sharing');

/**
 * @param {string} link
 * @param {string} [label] what it copies, where the button's own text does not say it
 */
export function copyButton(link, label) {
  const onclick = async () => (await copyText(link)) && showToast(shareStrings.dialog.copied, { kind: 'success' });
  return element('button', { type: 'button', class: 'btn btn-quiet', text: shareStrings.dialog.copy, 'aria-label': label, onclick });
}

/**
 * @param {string} link
 * @param {string} [label]
 */
export function openLink(link, label) {
  return element('a', { class: 'btn btn-quiet', href: link, target: '_blank', rel: 'noopener noreferrer', text: shareStrings.dialog.open, 'aria-label': label });
}

/** What failed, and a button that tries it again. */
export function problemNotice(text, onAgain) {
  const again = element('button', { type: 'button', class: 'btn btn-quiet', text: shareStrings.again, onclick: onAgain });
  return element('div', { class: 'share-problem' }, element('p', { class: 'notice notice-error', role: 'alert', text }), again);
}

/**
 * Asks whether a link shall end.
 *
 * @returns {Promise<boolean>}
 */
export function confirmWithdrawal() {
  return confirmAction({ title: words.title, text: words.text, confirmLabel: words.confirm });
}
