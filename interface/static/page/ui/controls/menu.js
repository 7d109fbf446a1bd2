/** A menu beside a button, or where the pointer is; it stays where it opened. Arrow keys and letters move, Enter chooses, Escape closes. */

import { icon } from '../icons.js';
import { element } from '../dom.js';
import { hidePopup, showBeside } from './popup.js';

let open = null;

function moveFocus(menu, event) {
  const items = [...menu.querySelectorAll('[role=menuitem]:not([aria-disabled])')];
  const at = items.indexOf(document.activeElement);
  const targets = { ArrowDown: (at + 1) % items.length, ArrowUp: (at - 1 + items.length) % items.length, Home: 0, End: -1 };
  event.stopPropagation();
  if (event.key in targets) {
    event.preventDefault();
    items.at(targets[event.key]).focus();
    return;
  }
  if (event.key === 'Tab') hidePopup(menu);
  if (event.key.length !== 1 || event.ctrlKey || event.metaKey || event.key === ' ') return;
  const letter = event.key.toLowerCase();
  const next = [...items.slice(at + 1), ...items.slice(0, at + 1)].find((item) => item.textContent.toLowerCase().startsWith(letter));
  next?.focus();
}

function itemNode(menu, { symbol, label, run, about = null, danger = false, disabled = false }) {
  const choose = () => {
    if (disabled) return;
    hidePopup(menu);
    run();
  };
  return element('button', {
    type: 'button', role: 'menuitem', title: about, class: `popup-item${danger ? ' action-delete' : ''}`, 'aria-disabled': disabled ? 'true' : null, onclick: choose,
  }, icon(symbol), element('span', { text: label }));
}

/**
 * @param {HTMLElement} anchor gets the focus back
 * @param {Array<{symbol: string, label: string, run: () => void, about?: string, danger?: boolean, disabled?: boolean}|null>} items
 *   null: a line between groups
 * @param {{label: string, at?: {x: number, y: number}}} options `at`: where the pointer is
 */
export function openMenu(anchor, items, { label, at }) {
  const isButton = anchor.hasAttribute('aria-haspopup');
  if (open) hidePopup(open);
  const menu = element('div', { class: 'popup-menu', role: 'menu', popover: 'auto', 'aria-label': label });
  menu.append(...items.map((item) => (item ? itemNode(menu, item) : element('div', { role: 'separator', class: 'menu-line' }))));
  menu.addEventListener('keydown', (event) => moveFocus(menu, event));
  menu.addEventListener('toggle', (event) => {
    if (event.newState !== 'closed') return;
    if (isButton) anchor.setAttribute('aria-expanded', 'false');
    // Focus that an action moved elsewhere (into a dialog, say) stays there.
    if (menu.contains(document.activeElement) || document.activeElement === document.body) anchor.focus({ preventScroll: true });
    menu.remove();
    if (open === menu) open = null;
  });
  open = menu;
  if (isButton) anchor.setAttribute('aria-expanded', 'true');
  const spot = at && { getBoundingClientRect: () => new DOMRect(at.x, at.y, 0, 0) };
  showBeside(menu, spot ?? anchor, { align: spot ? 'start' : 'end', follows: false });
  menu.querySelector('[role=menuitem]').focus();
}
