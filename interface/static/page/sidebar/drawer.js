/**
 * Showing and hiding the sidebar: beside the conversation where there is room (remembered), over it where there is
 * not (closed again as soon as something was chosen). Where there is room for one of both, it and the rail take turns.
 */

import { device } from '../core/browser_storage/storage.js';
import { shellStrings } from '../strings/en/shell.js';
import { tight } from '../ui/columns.js';

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
  const backdrop = document.getElementById('sidebar-backdrop');
  const toggles = document.querySelectorAll('[data-sidebar-toggle]');
  const narrow = matchMedia(NARROW);
  let isRailOpen = false;
  let open;

  /** Whether the rail has the only place beside the conversation. */
  const isTaken = () => isRailOpen && tight.matches && !narrow.matches;

  function apply() {
    root.dataset.sidebar = open ? 'open' : 'closed';
    for (const other of sidebar.parentElement.children) other.inert = open && narrow.matches && other !== sidebar && other !== backdrop;
    for (const toggle of toggles) {
      toggle.setAttribute('aria-expanded', String(open));
      toggle.setAttribute('aria-label', open ? words.close : words.open);
    }
  }

  function set(next) {
    const hadFocus = [...toggles].includes(document.activeElement);
    const takes = next && isTaken();
    open = next;
    if (!narrow.matches) remember(open);
    apply();
    if (takes) events.emit('sidebar:taken');
    // The button that was pressed is hidden now: the other one is in its place.
    if (narrow.matches || hadFocus) (open ? sidebar : main).querySelector('[data-sidebar-toggle]').focus();
  }

  function settle() {
    open = !narrow.matches && remembered() && !isTaken();
    apply();
  }

  for (const toggle of toggles) toggle.addEventListener('click', () => set(!open));
  backdrop.addEventListener('click', () => set(false));
  sidebar.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && narrow.matches && !event.defaultPrevented) set(false);
  });
  for (const width of [narrow, tight]) width.addEventListener('change', settle);
  events.on('rail:turned', ({ isOpen }) => {
    isRailOpen = isOpen;
    if (tight.matches && !narrow.matches) settle();
  });
  settle();
  const closeOver = () => narrow.matches && open && set(false);
  events.on('sidebar:toggle', () => set(!open));
  // A panel was asked for in the sidebar, which lies over it on narrow screens.
  events.on('panel:shown', closeOver);
  return { closeOver };
}
