/** A list to choose from, in groups. Arrow keys move, Enter chooses, a click chooses. */

import { composes } from '../../core/typing.js';
import { element } from '../dom.js';
import { icon } from '../icons.js';

const TYPED_TOGETHER_MS = 800;

/**
 * @typedef {object} Option
 * @property {any} value what is handed over when the option is chosen
 * @property {Node[]} content
 * @property {string} [key] names the option when the list is shown anew
 * @property {string} [text] what letters that are typed on the list find it by
 * @property {boolean} [isChosen] for lists that show what is chosen: whether it is this one
 * @property {string} [title]
 * @property {{label?: string, icon?: string, title: string}|null} [action] something else that can be done with it: at the end of the row,
 *   and with Ctrl+Enter
 */

/**
 * The focus is in `field`, a text field that filters the list, or else on the list itself, where Home, End, the space bar and
 * letters are keys of the list, too. The active option is the selected one, unless the options say what is chosen.
 *
 * @param {{id: string, label: string, className?: string, field?: HTMLElement|null, onChoose: (value: any) => void,
 *   onAction?: (value: any) => void, onUse?: () => void}} options `onUse`: the person goes through the list, or presses a row: what is shown is
 *   not to be replaced by what was asked for before
 */
export function createListbox({ id, label, className = '', field = null, onChoose, onAction = () => {}, onUse = () => {} }) {
  const node = element('div', { id, class: `listbox ${className}`.trim(), role: 'listbox', 'aria-label': label, tabindex: '0' });
  const owner = field ?? node;
  /** @type {Array<Option & {node: HTMLElement}>} */
  let rows = [];
  let active = -1;
  let typed = { text: '', at: 0 };

  node.addEventListener('mousedown', () => rows.length > 0 && onUse());
  if (field) {
    // What scrolls can be reached by the keyboard, and the field is where its keys are heard.
    node.addEventListener('focus', () => field.focus());
    node.addEventListener('mousedown', (event) => event.preventDefault());
  }

  function mark(row, isActive) {
    row?.node.classList.toggle('is-active', isActive);
    if (row?.isChosen === undefined) row?.node.setAttribute('aria-selected', String(isActive));
  }

  /** @param {number} position -1: none */
  function activate(position) {
    mark(rows[active], false);
    active = position;
    const row = rows[active];
    if (!row) {
      owner.removeAttribute('aria-activedescendant');
      return;
    }
    mark(row, true);
    row.node.scrollIntoView({ block: 'nearest' });
    owner.setAttribute('aria-activedescendant', row.node.id);
  }

  /** Decoration to assistive technology, where an option has nothing in it that can be pressed: Ctrl+Enter does the same. */
  function actionOf({ value, action }) {
    if (!action) return null;
    const button = element('span', { class: 'option-action', 'aria-hidden': 'true', title: action.title }, action.icon ? icon(action.icon) : action.label);
    button.addEventListener('click', (event) => {
      event.stopPropagation();
      onAction(value);
    });
    return button;
  }

  function rowFor(option) {
    const row = element('div', {
      class: 'listbox-option', role: 'option', id: `${id}-${rows.length}`, title: option.title, 'aria-selected': String(option.isChosen ?? false),
    }, ...option.content, actionOf(option));
    // The choice falls when the button is released, as everywhere.
    row.addEventListener('click', () => onChoose(option.value));
    rows.push({ ...option, node: row });
    return row;
  }

  function groupFor({ label: heading, options }, number) {
    if (!heading) return options.map(rowFor);
    const headingId = `${id}-group-${number}`;
    // No part of the list to who listens: the group has its name from it.
    const title = element('div', { class: 'listbox-heading', id: headingId, role: 'presentation', text: heading });
    return [element('div', { role: 'group', 'aria-labelledby': headingId }, title, ...options.map(rowFor))];
  }

  const topOf = (row) => row.node.getBoundingClientRect().top - node.getBoundingClientRect().top;

  /** The active option where it is in view, else the first one that is. */
  function rowInView() {
    const isInView = (row) => topOf(row) + row.node.offsetHeight > 0 && topOf(row) < node.clientHeight;
    return [rows[active], ...rows].find((row) => row && isInView(row));
  }

  /**
   * @param {Array<{label?: string, options: Option[]}>} groups
   * @param {{keepsPlace?: boolean}} [how] `keepsPlace`: by their keys, the active option stays so, and what is in view stays where it is
   */
  function show(groups, { keepsPlace = false } = {}) {
    const activeKey = rows[active]?.key;
    const seen = keepsPlace ? rowInView() : undefined;
    const top = seen && topOf(seen);
    clear();
    node.append(...groups.flatMap(groupFor));
    node.scrollTop = 0;
    if (!seen) return;
    activate(positionOf(activeKey));
    const now = rows[positionOf(seen.key)];
    if (now) node.scrollTop += topOf(now) - top;
  }

  function clear() {
    activate(-1);
    rows = [];
    node.replaceChildren();
  }

  /** @param {string} key @returns {number} where the option of that key stands, -1 where there is none */
  function positionOf(key) {
    return key === undefined ? -1 : rows.findIndex((row) => row.key === key);
  }

  function typeAhead({ key, timeStamp: now }) {
    const letter = key.toLowerCase();
    const text = now - typed.at < TYPED_TOGETHER_MS ? typed.text + letter : letter;
    typed = { text, at: now };
    // One letter again and again goes on; several narrow down from where one is.
    const from = text.length === 1 ? active + 1 : active;
    const order = rows.map((_, i) => (from + i) % rows.length);
    const textOf = (i) => (rows[i].text ?? '').toLowerCase();
    const found = order.find((i) => textOf(i).startsWith(text)) ?? order.find((i) => textOf(i).includes(text));
    if (found !== undefined) activate(found);
  }

  /** @returns {number|undefined} where a key leads */
  function targetOf({ key }) {
    const { length } = rows;
    const own = field ? {} : { Home: 0, End: length - 1 };
    return { ArrowDown: (active + 1) % length, ArrowUp: active < 0 ? length - 1 : (active - 1 + length) % length, ...own }[key];
  }

  function choose(event) {
    const { value, action } = rows[active];
    if (action && (event.ctrlKey || event.metaKey)) onAction(value);
    else onChoose(value);
  }

  /** The keys of a list that has the focus itself. @returns {boolean} whether it was one */
  function handleOwnKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return false;
    if (event.key === ' ' && active >= 0) choose(event);
    else if (event.key.length === 1) typeAhead(event);
    else return false;
    return true;
  }

  /** @returns {boolean} whether the key was for the list: then nobody else deals with it */
  function handleKey(event) {
    if (rows.length === 0 || composes(event)) return false;
    const target = targetOf(event);
    if (target !== undefined) {
      activate(target);
      onUse();
    } else if (event.key === 'Enter' && active >= 0 && !event.shiftKey) choose(event);
    else if (field || !handleOwnKey(event)) return false;
    event.preventDefault();
    return true;
  }

  if (!field) node.addEventListener('keydown', (event) => handleKey(event) && event.stopPropagation());

  return {
    node,
    show,
    clear,
    activate,
    handleKey,
    get length() {
      return rows.length;
    },
    get active() {
      return active;
    },
    /** The key of the active option. */
    get activeKey() {
      return rows[active]?.key;
    },
    positionOf,
    choose,
  };
}
