/** The rows of the tree: what they stand for, their icons and buttons, their keys, their long presses. */

import { shortTime } from '../core/words/times.js';
import { shellStrings } from '../strings/en/shell.js';
import { ROOT } from './tree_nodes_model.js';

export const TYPES = {
  [ROOT]: { valid_children: ['workspace', 'conversation', 'more'] },
  workspace: { icon: 'fa fa-folder', valid_children: ['workspace', 'conversation', 'more'] },
  conversation: { icon: 'fa fa-comment-o', valid_children: [] },
  more: { icon: 'fa fa-chevron-down', valid_children: [] },
};

/** What a node of the tree stands for: `{kind: 'workspace'|'conversation'|'more', id}`. */
export function subjectOf(node) {
  const attributes = node.li_attr;
  if (node.type === 'workspace') return { kind: 'workspace', id: attributes['data-workspace-id'] };
  if (node.type === 'conversation') return { kind: 'conversation', id: attributes['data-conversation-id'] };
  return { kind: 'more', id: attributes['data-more-of'] };
}

/** Who shall have the focus of a row: itself, and where it is gone, those behind it, before it, above it, nearest first. */
export function rowsAround(row) {
  const siblings = [...row.parentElement.children];
  const place = siblings.indexOf(row);
  const parent = row.parentElement.closest('li');
  return [row, ...siblings.slice(place + 1), ...siblings.slice(0, place).reverse(), ...(parent ? rowsAround(parent) : [])];
}

/** The name of a row's button, as long as no other row is called so. @param {string} when the moment that tells it from another one, in ISO 8601 */
export function nameButton(button, label, when) {
  Object.assign(button.dataset, { label, when: when ?? '' });
  button.setAttribute('aria-label', label);
}

/** Buttons of different conversations that are called alike say when, too; where that is the same, a number. @param {Element} root of all rows */
export function tellRowsApart(root = document.getElementById('sidebar')) {
  const buttons = [...root.querySelectorAll('[data-label]')];
  const idOf = (button) => button.closest('li').dataset.conversationId;
  let names = buttons.map(({ dataset }) => dataset.label);
  for (const more of [({ dataset }) => shortTime(dataset.when), (_, ids, id) => `(${ids.indexOf(id) + 1})`]) {
    const named = new Map();
    names.forEach((name, at) => named.set(name, (named.get(name) ?? new Set()).add(idOf(buttons[at]))));
    names = names.map((name, at) => {
      const ids = [...named.get(name)];
      return ids.length > 1 ? [name, more(buttons[at], ids, idOf(buttons[at]))].filter(Boolean).join(', ') : name;
    });
  }
  buttons.forEach((button, at) => button.setAttribute('aria-label', names[at]));
}

/**
 * A jsTree plugin, `rowmenu`: every row that is drawn gets its triple-dot button. Its icon and that of the row are drawn by
 * the style sheet: an SVG for each of hundreds of rows would cost more than all the rest of the tree.
 */
export function installRowMenu($) {
  if ($.jstree.plugins.rowmenu) return;
  const button = document.createElement('span');
  button.className = 'jstree-node-menu-btn';
  button.title = shellStrings.sidebar.rowActions;
  // The menu key and the long press open the same menu, so that the button would only be noise to a screen reader.
  button.setAttribute('aria-hidden', 'true');
  $.jstree.plugins.rowmenu = function rowMenu(_options, parent) {
    this.redraw_node = function redrawNode(...args) {
      const row = parent.redraw_node.apply(this, args);
      // The handle of the whole row and the arrow come before the anchor, the list of a workspace after it.
      if (row && row.dataset.moreOf === undefined) row.querySelector(':scope > .jstree-anchor').after(button.cloneNode());
      return row;
    };
  };
}

/** Shift and an arrow: the selection grows by the conversation that the focus goes to, or shrinks by the one it leaves. */
function extendSelection(tree, event, step) {
  event.preventDefault();
  const from = tree.get_node(event.currentTarget);
  const next = tree[step](event.currentTarget);
  if (!next?.length) return;
  const to = tree.get_node(next);
  next.children('.jstree-anchor').trigger('focus');
  if (to.type !== 'conversation') return;
  if (tree.is_selected(to) && tree.is_selected(from)) tree.deselect_node(from);
  else tree.select_node([from, to].filter((node) => node.type === 'conversation'));
}

/**
 * The keys of a row beside those that jsTree has.
 *
 * @param {{rename: (subject: object) => void, remove: (subject: object) => void}} on
 */
export function rowKeys(on) {
  const told = (job) =>
    function onKey(event) {
      event.preventDefault();
      job(subjectOf(this.get_node(event.currentTarget)));
    };
  return {
    'shift-up'(event) {
      extendSelection(this, event, 'get_prev_dom');
    },
    'shift-down'(event) {
      extendSelection(this, event, 'get_next_dom');
    },
    f2: told(on.rename),
    delete: told(on.remove),
  };
}

/** The touch that opened a menu must not, when it ends, also count as a click, which would close it again. */
export function keepLongPressMenus(container) {
  const isMenuOpen = () => document.querySelector('.vakata-context') !== null;
  let wasOpen = false;
  const onStart = () => {
    wasOpen = isMenuOpen();
  };
  const onEnd = (event) => {
    if (!wasOpen && isMenuOpen()) event.preventDefault();
  };
  // Not by jQuery: its event objects are shared, and jsTree still reads its own when the press has become long.
  container.addEventListener('touchstart', onStart, { passive: true });
  container.addEventListener('touchend', onEnd);
}
