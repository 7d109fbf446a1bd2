/** Small things that float beside what they belong to: menus, lists, hover cards. Over everything, by the popover API. */

const GAP = 6;

/** Where popovers stand in the document: inside its main part, so that whoever goes by landmarks finds them. */
export function place() {
  return document.querySelector('main') ?? document.body;
}

/**
 * Shows a popover beside an anchor: below it, or above where there is no room, and never outside the window.
 *
 * @param {HTMLElement} popup which has the attribute `popover`
 * @param {Element} anchor
 * @param {{align?: 'start'|'end'}} [options]
 */
export function showBeside(popup, anchor, { align = 'start' } = {}) {
  if (!popup.isConnected) place().append(popup);
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

/** @param {HTMLElement} popup */
export function hidePopup(popup) {
  if (popup.matches(':popover-open')) popup.hidePopover();
}
