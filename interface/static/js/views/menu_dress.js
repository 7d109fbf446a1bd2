/** What vakata's menus lack: icons from the sprite, roles for screen readers, submenus that stay on the screen. */

import { drawNamedIcon } from '../lib/icons.js';

const EDGE = 8;

function dressItem(row) {
  row.setAttribute('role', 'none');
  const link = row.querySelector(':scope > a');
  if (row.classList.contains('vakata-context-separator')) {
    row.setAttribute('role', 'separator');
    link.setAttribute('aria-hidden', 'true');
    link.tabIndex = -1;
    return;
  }
  link.setAttribute('role', 'menuitem');
  if (row.classList.contains('vakata-contextmenu-disabled')) link.setAttribute('aria-disabled', 'true');
  const submenu = row.querySelector(':scope > ul');
  if (submenu) {
    link.setAttribute('aria-haspopup', 'menu');
    submenu.setAttribute('role', 'menu');
  }
  const mark = link.querySelector('i');
  if (mark) drawNamedIcon(mark);
}

function dress(menu) {
  menu.setAttribute('role', 'menu');
  for (const row of menu.querySelectorAll('li')) dressItem(row);
}

/** Shift a submenu that is taller or wider than the room beside its item. */
function keepOnScreen(row) {
  const submenu = row?.querySelector(':scope > ul');
  if (!submenu || !submenu.getClientRects().length) return;
  Object.assign(submenu.style, { bottom: '', marginTop: '', marginLeft: '', marginRight: '' });
  const box = submenu.getBoundingClientRect();
  const beyondBottom = box.bottom - (window.innerHeight - EDGE);
  if (beyondBottom > 0) submenu.style.marginTop = `${-Math.min(beyondBottom, box.top - EDGE)}px`;
  const beyondRight = box.right - (window.innerWidth - EDGE);
  if (beyondRight > 0) submenu.style.marginLeft = `${-beyondRight}px`;
  else if (box.left < EDGE) submenu.style.marginRight = `${box.left - EDGE}px`;
}

/** Prepare vakata's menus, once for the page. */
export function dressMenus() {
  const $ = globalThis.jQuery;
  const { context } = $.vakata;
  const showSubmenu = context._show_submenu;
  context._show_submenu = (row) => {
    showSubmenu(row);
    keepOnScreen(row);
  };
  $(document)
    .on('context_show.vakata', (_event, { element }) => dress(element[0]))
    .on('context_hide.vakata', (_event, { reference }) => {
      // Focus that an action moved elsewhere (into a dialog, say) stays there.
      if (document.activeElement === document.body) reference?.[0]?.focus({ preventScroll: true });
    });
  document.addEventListener(
    'keydown',
    (event) => {
      const row = event.key === 'ArrowRight' && event.target.closest?.('.vakata-context li');
      // vakata shows the submenu while this event is handled, and does not place it.
      if (row) setTimeout(() => keepOnScreen(row));
    },
    true,
  );
}
