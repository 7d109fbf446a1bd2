/** Small things that float beside what they belong to: menus, lists, hover cards. Over everything, by the popover API. */

import { strings } from '../strings/en/conversation.js';
import { element, mainLandmark } from './dom.js';

const GAP = 6;

/**
 * Shows a popover beside an anchor: below it, or above where there is no room, and never outside the window.
 *
 * @param {HTMLElement} popup which has the attribute `popover`
 * @param {Element} anchor
 * @param {{align?: 'start'|'end'}} [options]
 */
export function showBeside(popup, anchor, { align = 'start' } = {}) {
  if (!popup.isConnected) mainLandmark().append(popup);
  if (!popup.matches(':popover-open')) popup.showPopover();
  const around = anchor.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = popup;
  const { clientWidth, clientHeight } = document.documentElement;
  const left = align === 'end' ? around.right - width : around.left;
  const below = around.bottom + GAP;
  const top = below + height > clientHeight - GAP ? Math.max(GAP, around.top - GAP - height) : below;
  popup.style.left = `${Math.max(GAP, Math.min(left, clientWidth - width - GAP))}px`;
  popup.style.top = `${top}px`;
}

/**
 * Shows in a popup what `ask` brings; where that fails it is said, with a button that tries again.
 *
 * @template T
 * @param {HTMLElement} content of the popup, which is filled
 * @param {() => Promise<T>} ask
 * @param {{show: (answer: T) => Node[], failed: (message: string) => string}} options
 * @returns {Promise<boolean>} whether it was there
 */
export async function fillPopup(content, ask, { show, failed }) {
  try {
    content.replaceChildren(...show(await ask()));
    return true;
  } catch (error) {
    const again = element('button', { type: 'button', class: 'btn btn-sm btn-quiet popup-again', text: strings.attempt.again });
    again.addEventListener('click', async () => {
      again.disabled = true;
      await fillPopup(content, ask, { show, failed });
      content.querySelector('button')?.focus();
    });
    content.replaceChildren(element('p', { class: 'popup-note', role: 'alert', text: failed(error.message) }), again);
    return false;
  }
}

/** @param {HTMLElement} popup */
export function hidePopup(popup) {
  if (popup.matches(':popover-open')) popup.hidePopover();
}
