/** Lists of named things that memories are filed under: entities and tags. */

import { memoriesStrings } from '../../strings/en/memories.js';
import { element, inRow } from '../../ui/dom.js';
import { openMenu } from '../../ui/controls/menu.js';
import { iconButton, referenceBadge } from '../controls.js';
import { referenceTo } from '../memory_model.js';

const DEEPEST = 6;

/**
 * @param {{name: string, friendly_id: string}} thing
 * @param {{note: string, count: string, openLabel: string, onOpen: () => void, items: object[], depth?: number}} options
 * @returns {HTMLLIElement}
 */
export function recordRow(thing, { note, count, openLabel, onOpen, items, depth = 0 }) {
  const show = (at) => openMenu(menu, items, { label: memoriesStrings.panel.menu(thing.name), at });
  const menu = iconButton('three-dots', memoriesStrings.list.more, () => show(), { ...inRow(memoriesStrings.list.more, thing.name), 'aria-haspopup': 'menu', 'aria-expanded': 'false' });
  const row = element('li', { class: `memories-record memories-depth-${Math.min(depth, DEEPEST)}` },
    element('button', { type: 'button', class: 'memories-record-name', text: thing.name, title: openLabel, onclick: onOpen }),
    note ? element('span', { class: 'memories-note', text: note }) : null,
    element('span', { class: 'memories-note memories-record-count', text: count }),
    referenceBadge(referenceTo(thing)), menu);
  row.addEventListener('contextmenu', (event) => {
    event.preventDefault();
    show(event.button === 2 ? { x: event.clientX, y: event.clientY } : undefined);
  });
  return row;
}
