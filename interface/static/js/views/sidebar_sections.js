/** What is beside the tree: the pinned and the newest conversations above it, the archive and the bin below it. */

import { formatAddress } from '../lib/address.js';
import { icon } from '../lib/icons.js';
import { shellStrings } from '../lib/shell_strings.js';
import { UNTITLED, spokenTitle } from '../models/tree_nodes.js';
import { element } from './dom.js';

const KEY = 'anaphora.sections';
const NEWEST = 5;
const LONG_PRESS_MS = 600;

function remembered() {
  try {
    return JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    return {};
  }
}

function remember(section, open) {
  try {
    localStorage.setItem(KEY, JSON.stringify({ ...remembered(), [section]: open }));
  } catch {
    // Storage may be forbidden: the state then lasts as long as the page.
  }
}

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
 * @param {{onOpen: (conversationId: string) => void, onMenu: (conversationId: string, link: HTMLElement, place: {x: number, y: number}) => void}} on
 */
export function conversationRow(conversation, { onOpen, onMenu }) {
  const id = conversation.conversation_id;
  const title = conversation.title || UNTITLED;
  const flag = conversation.flag || 'none';
  const link = element('a', { class: 'sidebar-link', href: formatAddress(id), title, text: title });
  if (conversation.stateless) link.prepend(icon('eye-slash'));
  if (conversation.stateless || flag !== 'none') link.setAttribute('aria-label', spokenTitle(conversation));
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onOpen(id);
  });
  const dots = element('button', { class: 'sidebar-row-menu', type: 'button', 'aria-haspopup': 'menu' }, icon('three-dots'));
  dots.setAttribute('aria-label', shellStrings.sidebar.actionsOf(title));
  dots.addEventListener('click', () => {
    const { left, bottom } = dots.getBoundingClientRect();
    onMenu(id, dots, { x: left, y: bottom });
  });
  whenMenuIsAsked(link, (place) => onMenu(id, link, place));
  return element('li', { class: 'sidebar-row', 'data-conversation-id': id, 'data-flag': flag }, link, dots);
}

/**
 * @param {object} parts
 * @param {import('../models/tree.js').TreeModel} parts.model
 * @param {{onOpen: Function, onMenu: Function}} parts.on as for `conversationRow`
 * @param {() => Promise<{show: (section: string, list: HTMLElement) => Promise<void>}>} parts.loadShelves
 * @param {(error: Error, again: () => void) => void} parts.onFailure
 * @returns {{draw: (conversationId: string|null) => void, changed: (...sections: string[]) => void}} `draw` shows the
 *   pinned and the newest anew, the open one marked; `changed` does the same with the archive or the bin, if open
 */
export function mountSections({ model, on, loadShelves, onFailure }) {
  const parts = Object.fromEntries(
    [...document.querySelectorAll('#sidebar [data-section]')].map((part) => [part.dataset.section, part]),
  );
  const listOf = (section) => parts[section].querySelector('ul');

  function fill(section, conversations, openId) {
    parts[section].hidden = conversations.length === 0;
    const focused = parts[section].contains(document.activeElement)
      ? document.activeElement.closest('[data-conversation-id]')?.dataset.conversationId
      : undefined;
    const rows = conversations.map((conversation) => conversationRow(conversation, on));
    for (const row of rows) {
      const link = row.firstElementChild;
      if (row.dataset.conversationId === openId) link.setAttribute('aria-current', 'true');
    }
    listOf(section).replaceChildren(...rows);
    rows.find((row) => row.dataset.conversationId === focused)?.firstElementChild.focus({ preventScroll: true });
  }

  async function show(section) {
    try {
      const shelves = await loadShelves();
      await shelves.show(section, listOf(section));
    } catch (error) {
      onFailure(error, () => show(section));
    }
  }

  const state = remembered();
  for (const [section, part] of Object.entries(parts)) {
    if (section in state) part.open = state[section];
    const isShelf = part.dataset.shelf !== undefined;
    if (isShelf && part.open) show(section);
    part.firstElementChild.addEventListener('click', () => remember(section, !part.open));
    if (isShelf) part.addEventListener('toggle', () => part.open && show(section));
  }

  return {
    draw(openId) {
      fill('pinned', model.pinned(), openId);
      fill('recent', model.recent(NEWEST), openId);
    },
    changed(...sections) {
      for (const section of sections) if (parts[section].open) show(section);
    },
  };
}
