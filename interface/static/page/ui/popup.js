/** Small things that float beside what they belong to: menus, lists, hover cards. Over everything, by the popover API. */

import { computePosition, flip, offset, shift } from '../../vendor/floating-ui.mjs';
import { strings } from '../strings/en/conversation.js';
import { element, mainLandmark } from './dom.js';

const GAP = 6;

/**
 * Shows a popover beside an anchor: below it, or above where there is no room, and never outside the window.
 *
 * @param {HTMLElement} popup which has the attribute `popover`
 * @param {Element|{getBoundingClientRect: () => DOMRect}} anchor
 * @param {{align?: 'start'|'end'}} [options]
 */
export function showBeside(popup, anchor, { align = 'start' } = {}) {
  if (!popup.isConnected) mainLandmark().append(popup);
  if (!popup.matches(':popover-open')) popup.showPopover();
  place(popup, anchor, `bottom-${align}`);
}

async function place(popup, anchor, placement) {
  const { x, y } = await computePosition(anchor, popup, {
    strategy: 'fixed', placement, middleware: [offset(GAP), flip({ padding: GAP }), shift({ padding: GAP, crossAxis: true })],
  });
  Object.assign(popup.style, { left: `${x}px`, top: `${y}px` });
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
