/** What is beside the tree: the pinned and the newest conversations above it, the archive and the bin below it. */

import { formatAddress } from '../../core/address.js';
import { listedTitle } from '../../core/words/conversation_title.js';
import { device } from '../../core/browser_storage/storage.js';
import { icon } from '../../ui/icons.js';
import { shellStrings } from '../../strings/en/shell.js';
import { markClasses, spokenTitle } from '../tree_nodes_model.js';
import { element, whenReleased } from '../../ui/dom.js';
import { nameButton, rowsAround, tellRowsApart } from '../rows.js';

const KEY = 'anaphora.sections';
const NEWEST = 5;
const LONG_PRESS_MS = 600;

function remembered() {
  try {
    return JSON.parse(device.get(KEY)) ?? {};
  } catch {
    return {}; // What another version of the page wrote.
  }
}

const remember = (section, open) => device.set(KEY, JSON.stringify({ ...remembered(), [section]: open }));

/** Right click, menu key and long press alike: not every browser tells of a long press by itself. */
function whenMenuIsAsked(link, show) {
  let timer = null;
  let shown = false;
  const stop = () => clearTimeout(timer);
  function open(x, y) {
    stop();
    shown = true;
    show({ x, y });
  }
  link.addEventListener('contextmenu', (event) => {
    event.preventDefault();
    if (timer === null || !shown) open(event.pageX, event.pageY);
  });
  const begin = ({ touches: [{ pageX, pageY }] }) => {
    shown = false;
    timer = setTimeout(() => open(pageX, pageY), LONG_PRESS_MS);
  };
  link.addEventListener('touchstart', begin, { passive: true });
  link.addEventListener('touchmove', stop, { passive: true });
  link.addEventListener('touchcancel', stop);
  link.addEventListener('touchend', (event) => {
    stop();
    timer = null;
    // The finger that opened the menu must not, when it lifts, also count as a click, which would close it again.
    if (shown) event.preventDefault();
    shown = false;
  });
}

/**
 * A conversation's row in a list: a link, and its menu by right click, long press, menu key or button.
 *
 * @param {object} conversation
 * @param {{onOpen: (conversationId: string, how: {isBeside: boolean}) => void, onMenu: (conversationId: string, link: HTMLElement, place: {x: number, y: number}) => void,
 *          isOpen: (conversationId: string) => boolean}} on
 */
export function conversationRow(conversation, { onOpen, onMenu, isOpen }) {
  const id = conversation.conversation_id;
  const title = listedTitle(conversation);
  const flag = conversation.flag || 'none';
  const link = element('a', { class: 'sidebar-link', href: formatAddress(id), title, text: title, 'aria-current': isOpen(id) ? 'true' : null });
  if (conversation.stateless) link.prepend(icon('eye-slash'));
  const marks = markClasses(conversation);
  if (conversation.stateless || flag !== 'none' || marks.length > 0) link.setAttribute('aria-label', spokenTitle(conversation));
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onOpen(id, { isBeside: event.altKey });
  });
  const dots = element('button', { class: 'sidebar-row-menu', type: 'button', 'aria-haspopup': 'menu' }, icon('three-dots'));
  nameButton(dots, shellStrings.sidebar.actionsOf(title), conversation.updated_at);
  dots.addEventListener('click', () => {
    const { left, bottom } = dots.getBoundingClientRect();
    onMenu(id, dots, { x: left, y: bottom });
  });
  whenMenuIsAsked(link, (place) => onMenu(id, link, place));
  return element('li', { class: ['sidebar-row', ...marks].join(' '), 'data-conversation-id': id, 'data-flag': flag }, link, dots);
}

/** The conversation whose row in a list has the focus, then those around it, nearest first; null where it is elsewhere. */
export function focusedIn(list) {
  if (!list.contains(document.activeElement)) return null;
  return rowsAround(document.activeElement.closest('li')).map((row) => row.dataset.conversationId).filter(Boolean);
}

/** Gives the focus to the first of some conversations that has a row in a list now, else to another element. */
export function focusFirst(conversationIds, lists, otherwise) {
  const rows = lists.flatMap((list) => [...list.children]);
  const found = conversationIds.map((id) => rows.find((row) => row.dataset.conversationId === id)).find(Boolean);
  (found?.querySelector('a, button') ?? otherwise).focus({ preventScroll: true });
}

/**
 * @param {object} parts
 * @param {import('../tree_model.js').TreeModel} parts.model
 * @param {{onOpen: Function, onMenu: Function}} parts.on as for `conversationRow`
 * @param {() => Promise<{show: (section: string, list: HTMLElement) => Promise<void>}>} parts.loadShelves
 * @param {(error: Error, again: () => void) => void} parts.onFailure
 * @returns {{draw: () => void, changed: (...sections: string[]) => void}} `draw` shows the pinned and the newest anew, and
 *   marks the open one wherever it is listed; `changed` shows the archive or the bin anew, if open
 */
export function mountSections({ model, on, loadShelves, onFailure }) {
  const parts = Object.fromEntries(
    [...document.querySelectorAll('#sidebar [data-section]')].map((part) => [part.dataset.section, part]),
  );
  const listOf = (section) => parts[section].querySelector('ul');

  function fill(section, conversations) {
    parts[section].hidden = conversations.length === 0;
    listOf(section).replaceChildren(...conversations.map((conversation) => conversationRow(conversation, on)));
  }

  function markArchived() {
    for (const row of listOf('archived').querySelectorAll('[data-conversation-id]')) {
      if (on.isOpen(row.dataset.conversationId)) row.firstElementChild.setAttribute('aria-current', 'true');
      else row.firstElementChild.removeAttribute('aria-current');
    }
  }

  async function show(section) {
    try {
      const shelves = await loadShelves();
      await shelves.show(section, listOf(section));
    } catch (error) {
      onFailure(error, () => show(section));
    }
  }

  /** Scrolls to a section that the person opened, and to the rows that came for it, unless the person did something else meanwhile. */
  async function reveal(part, filled) {
    part.scrollIntoView({ block: 'nearest' });
    const listening = new AbortController();
    let isElsewhere = false;
    for (const type of ['pointerdown', 'keydown', 'wheel', 'touchmove']) {
      addEventListener(type, () => { isElsewhere = true; }, { passive: true, signal: listening.signal });
    }
    await filled;
    listening.abort();
    if (part.open && !isElsewhere) part.scrollIntoView({ block: 'nearest' });
  }

  const state = remembered();
  for (const [section, part] of Object.entries(parts)) {
    const isShelf = part.dataset.shelf !== undefined;
    let isClicked = false;
    part.firstElementChild.addEventListener('click', () => {
      isClicked = true;
      remember(section, !part.open);
    });
    part.addEventListener('toggle', () => {
      const filled = isShelf && part.open && show(section);
      if (isClicked && part.open) reveal(part, filled);
      isClicked = false;
    });
    if (section in state) part.open = state[section];
  }

  return {
    async draw() {
      const lists = [listOf('pinned'), listOf('recent')];
      // What is replaced or moved while it is pressed is never clicked.
      if (document.getElementById('sidebar').matches(':active')) await whenReleased();
      const focused = focusedIn(lists[0]) ?? focusedIn(lists[1]);
      fill('pinned', model.pinned());
      fill('recent', model.recent(NEWEST));
      markArchived();
      tellRowsApart();
      if (focused) focusFirst(focused, lists, document.getElementById('new-conversation'));
    },
    changed(...sections) {
      for (const section of sections) if (parts[section].open) show(section);
    },
  };
}
