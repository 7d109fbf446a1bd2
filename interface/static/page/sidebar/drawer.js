/**
 * Showing and hiding the sidebar: beside the conversation where there is room (remembered), over it where there is
 * not (closed again as soon as something was chosen).
 */

import { device } from '../core/browser_storage/storage.js';
import { shellStrings } from '../strings/en/shell.js';

const KEY = 'anaphora.sidebar';
const NARROW = '(max-width: 767.98px)';

const remembered = () => device.get(KEY) !== 'closed';
const remember = (open) => device.set(KEY, open ? 'open' : 'closed');

/**
 * @param {object} events
 * @returns {{closeOver: () => void}} `closeOver` hides the sidebar where it covers the conversation
 */
export function mountDrawer(events) {
  const words = shellStrings.sidebar;
  const root = document.documentElement;
  const sidebar = document.getElementById('sidebar');
  const main = document.querySelector('main');
  const toggles = document.querySelectorAll('[data-sidebar-toggle]');
  const narrow = matchMedia(NARROW);
  let open = !narrow.matches && remembered();

  function apply() {
    root.dataset.sidebar = open ? 'open' : 'closed';
    main.inert = open && narrow.matches;
    for (const toggle of toggles) {
      toggle.setAttribute('aria-expanded', String(open));
      toggle.setAttribute('aria-label', open ? words.close : words.open);
    }
  }

  function set(next) {
    open = next;
    if (!narrow.matches) remember(open);
    apply();
    if (!narrow.matches) return;
    if (open) sidebar.querySelector('[data-sidebar-toggle]').focus();
    else main.querySelector('[data-sidebar-toggle]').focus();
  }

  for (const toggle of toggles) toggle.addEventListener('click', () => set(!open));
  document.getElementById('sidebar-backdrop').addEventListener('click', () => set(false));
  sidebar.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && narrow.matches && !event.defaultPrevented) set(false);
  });
  narrow.addEventListener('change', () => {
    open = !narrow.matches && remembered();
    apply();
  });
  apply();
  const closeOver = () => narrow.matches && open && set(false);
  events.on('sidebar:toggle', () => set(!open));
  // A panel was asked for in the sidebar, which lies over it on narrow screens.
  events.on('panel:shown', closeOver);
  return { closeOver };
}
