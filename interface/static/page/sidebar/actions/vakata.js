/** What vakata's menus lack: icons from the sprite, roles for screen readers, submenus that stay on the screen. */

import { drawNamedIcon } from '../../ui/icons.js';

const EDGE = 8;

function dressItem(row) {
  if (row.classList.contains('vakata-context-separator')) {
    row.setAttribute('role', 'separator');
    row.replaceChildren();
    return;
  }
  row.setAttribute('role', 'none');
  const link = row.querySelector(':scope > a');
  link.setAttribute('role', 'menuitem');
  if (row.classList.contains('vakata-contextmenu-disabled')) link.setAttribute('aria-disabled', 'true');
  const submenu = row.querySelector(':scope > ul');
  if (submenu) link.setAttribute('aria-haspopup', 'menu');
  const mark = link.querySelector('i');
  if (mark) drawNamedIcon(mark);
}

/** Dress one level. Submenus are dressed when they open: they may list hundreds of workspaces. */
function dress(menu) {
  if (menu.firstElementChild?.hasAttribute('role')) return;
  menu.setAttribute('role', 'menu');
  for (const row of menu.children) dressItem(row);
}

/** Lift a menu that grew beyond the lower edge of the window: narrow windows unfold submenus inside their menu. */
function lift(menu) {
  const box = menu.getBoundingClientRect();
  const beyond = box.bottom - (window.innerHeight - EDGE);
  if (beyond > 0) menu.style.top = `${Math.max(EDGE, box.top - beyond) + window.scrollY}px`;
}

/** Shift a submenu that is taller or wider than the room beside its item. */
function shift(submenu) {
  const box = submenu.getBoundingClientRect();
  const beyondBottom = box.bottom - (window.innerHeight - EDGE);
  if (beyondBottom > 0) {
    const margin = parseFloat(getComputedStyle(submenu).marginTop);
    submenu.style.marginTop = `${margin - Math.min(beyondBottom, box.top - EDGE)}px`;
  }
  const beyondRight = box.right - (window.innerWidth - EDGE);
  if (beyondRight > 0) submenu.style.marginLeft = `${-beyondRight}px`;
  else if (box.left < EDGE) submenu.style.marginRight = `${box.left - EDGE}px`;
}

function presentSubmenu(row) {
  const submenu = row?.querySelector(':scope > ul');
  if (!submenu?.getClientRects().length) return;
  dress(submenu);
  Object.assign(submenu.style, { bottom: '', marginTop: '', marginLeft: '', marginRight: '' });
  if (getComputedStyle(submenu).position === 'static') lift(row.closest('.vakata-context'));
  else shift(submenu);
}

function onKey(event) {
  if (event.key === 'Escape' && document.querySelector('.vakata-context')) {
    // vakata hears the key only while one of its items has the focus.
    event.preventDefault();
    event.stopPropagation();
    globalThis.jQuery.vakata.context.hide();
  }
  const row = event.key === 'ArrowRight' && event.target.closest?.('.vakata-context li');
  // vakata shows the submenu while this event is handled, but does not place it.
  if (row) setTimeout(() => presentSubmenu(row));
}

/** Prepare vakata's menus, once for the page. */
export function dressMenus() {
  const $ = globalThis.jQuery;
  const { context } = $.vakata;
  const showSubmenu = context._show_submenu;
  context._show_submenu = (row) => {
    showSubmenu(row);
    presentSubmenu($(row)[0]);
  };
  $(document)
    .on('context_show.vakata', (_event, { element }) => dress(element[0]))
    .on('context_hide.vakata', (_event, { reference }) => {
      // Focus that an action moved elsewhere (into a dialog, say) stays there.
      if (document.activeElement === document.body) reference?.[0]?.focus({ preventScroll: true });
    });
  document.addEventListener('keydown', onKey, true);
}
