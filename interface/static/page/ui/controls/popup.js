/** Small things that float beside what they belong to: menus, lists, hover cards. Over everything, by the popover API. */

import { autoUpdate, computePosition, flip, hide, offset, shift } from '../../../vendor/floating-ui.mjs';
import { strings } from '../../strings/en/conversation.js';
import { element, mainLandmark } from '../dom.js';

const GAP = 6;
/** Placed anew where the window changes its size alone. */
const STAYS = { ancestorScroll: false, elementResize: false, layoutShift: false };
const MIDDLEWARE = [offset(GAP), flip({ padding: GAP }), shift({ padding: GAP, crossAxis: true }), hide()];

/** What ends following the anchor, for each popup that is shown. */
const following = new WeakMap();

/** What is not in a modal dialog can't be used while that is open. */
function putWithin(popup, dialog) {
  if (!popup.isConnected || (dialog && !dialog.contains(popup))) (dialog ?? mainLandmark()).append(popup);
}

/**
 * Shows a popover beside an anchor: below it, or above where there is no room, and never outside the window. While the popover
 * is open it follows the anchor when something scrolls or changes size, but not while it is pressed. It stays where it is when the
 * anchor leaves the document: a live change may draw a row anew.
 *
 * @param {HTMLElement} popup which has the attribute `popover`
 * @param {Element|{getBoundingClientRect: () => DOMRect}} anchor
 * @param {{align?: 'start'|'end', follows?: boolean, onHidden?: () => void}} [options] `follows` false: it stays where it opened, so
 *   that what is aimed at does not move away; `onHidden`: called when the anchor was scrolled out of view or has left the document
 */
export function showBeside(popup, anchor, { align = 'start', follows = true, onHidden = null } = {}) {
  putWithin(popup, anchor.closest?.('dialog') ?? null);
  if (!popup.matches(':popover-open')) popup.showPopover();
  following.get(popup)?.();
  const update = () => place(popup, anchor, { placement: `bottom-${align}`, onHidden });
  following.set(popup, autoUpdate(anchor, popup, update, follows ? {} : STAYS));
}

async function place(popup, anchor, { placement, onHidden }) {
  if (!popup.matches(':popover-open')) {
    following.get(popup)?.();
    return;
  }
  // What moves away between press and release is not clicked.
  if (popup.matches(':active')) {
    const again = () => place(popup, anchor, { placement, onHidden });
    window.addEventListener('pointerup', () => requestAnimationFrame(again), { once: true });
    return;
  }
  if (anchor.isConnected === false) {
    following.get(popup)?.();
    onHidden?.();
    return;
  }
  const { x, y, middlewareData } = await computePosition(anchor, popup, { strategy: 'fixed', placement, middleware: MIDDLEWARE });
  Object.assign(popup.style, { left: `${x}px`, top: `${y}px` });
  if (onHidden && middlewareData.hide.referenceHidden) onHidden();
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

/** Whether something floats over the page that keys are for: a dialog, a popup, a menu of the sidebar, rows that are dragged there. */
export const isSomethingOver = () => document.querySelector('dialog[open], [popover]:popover-open:not(#toasts), .vakata-context, #vakata-dnd') !== null;

/** @param {HTMLElement} popup */
export function hidePopup(popup) {
  following.get(popup)?.();
  if (popup.matches(':popover-open')) popup.hidePopover();
}
