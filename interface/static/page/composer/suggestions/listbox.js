import { strings } from '../../strings/en/conversation.js';
import { element } from '../../ui/dom.js';

/**
 * @typedef {object} Option
 * @property {any} value what is handed over when it is chosen
 * @property {Node[]} content
 * @property {{label: string, title: string}|null} [action] something else that can be done with it: at the end of the row,
 *   and with Ctrl+Enter
 */

/**
 * A list of suggestions above a text field, which keeps the focus; in groups with headings where these have labels.
 *
 * In ARIA's words an editable combobox; but a field of several lines may not have that role, so that it stays a text box
 * that has a listbox, and what is offered is announced.
 *
 * @param {HTMLElement} input
 * @param {{label: string, onChoose: (value: any) => void, onAction?: (value: any) => void}} options
 */
export function createListbox(input, { label, onChoose, onAction = () => {} }) {
  const list = element('div', { id: 'composer-suggestions', role: 'listbox', 'aria-label': label, tabindex: '0' });
  const note = element('p', { class: 'suggestions-note' });
  const said = element('p', { class: 'visually-hidden', role: 'status' });
  const box = element('div', { class: 'suggestions', hidden: true }, list, note);
  // What scrolls can be reached by the keyboard, and the field is where its keys are heard.
  list.addEventListener('focus', () => input.focus());
  box.addEventListener('mousedown', (event) => event.preventDefault());
  input.parentElement.append(box, said);
  for (const [name, value] of Object.entries({
    'aria-autocomplete': 'list', 'aria-haspopup': 'listbox', 'aria-controls': list.id,
  })) input.setAttribute(name, value);
  /** @type {Array<Option & {node: HTMLElement}>} */
  let rows = [];
  let active = -1;
  /** Whether Enter and Tab take a row: those of an earlier query are shown, and not taken. */
  let isCurrent = true;

  const isOpen = () => !box.hidden;

  function setOpen(open) {
    box.hidden = !open;
    if (!open) input.removeAttribute('aria-activedescendant');
  }

  function activate(position) {
    rows[active]?.node.setAttribute('aria-selected', 'false');
    active = position;
    const row = rows[active];
    if (!row) return;
    row.node.setAttribute('aria-selected', 'true');
    row.node.scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', row.node.id);
  }

  /** Decoration to assistive technology, where an option has nothing in it that can be pressed: Ctrl+Enter does the same. */
  function actionOf({ value, action }) {
    if (!action) return null;
    const button = element('span', { class: 'option-action', 'aria-hidden': 'true', title: action.title, text: action.label });
    button.addEventListener('click', (event) => {
      event.stopPropagation();
      onAction(value);
    });
    return button;
  }

  function rowFor(option) {
    const node = element('div', { class: 'suggestion', role: 'option', id: `suggestion-${rows.length}`, 'aria-selected': 'false' },
      ...option.content, actionOf(option));
    // The choice falls when the button is released, as everywhere.
    node.addEventListener('click', () => onChoose(option.value));
    rows.push({ ...option, node });
    return node;
  }

  function groupFor({ label: heading, options }, number) {
    if (!heading) return options.map(rowFor);
    const id = `suggestions-group-${number}`;
    // No part of the list to who listens: the group has its name from it.
    const title = element('div', { class: 'suggestions-heading', id, role: 'presentation', text: heading });
    return [element('div', { role: 'group', 'aria-labelledby': id }, title, ...options.map(rowFor))];
  }

  /**
   * @param {Array<{label?: string, options: Option[]}>} groups
   * @param {{keys: string, more?: string, preselects?: boolean}} said what the keys do, for who has some, and what else there is to say;
   *   `preselects`: Enter takes the first row, also where nobody went to it by the arrows
   */
  function show(groups, { keys, more = '', preselects = true }) {
    rows = [];
    list.replaceChildren(...groups.flatMap(groupFor));
    note.replaceChildren(...(more ? [element('span', { text: `${more} ` })] : []), element('span', { class: 'suggestions-keys', text: keys }));
    said.textContent = strings.composer.choices(rows.length);
    setOpen(true);
    active = -1;
    isCurrent = true;
    list.scrollTop = 0;
    if (preselects) activate(0);
  }

  /** What is shown answers an earlier query. */
  function expire() {
    isCurrent = false;
  }

  /** @param {string} text in the place of suggestions */
  function tell(text) {
    rows = [];
    active = -1;
    list.replaceChildren();
    note.textContent = text;
    said.textContent = text;
    setOpen(true);
  }

  function close() {
    rows = [];
    active = -1;
    said.textContent = '';
    setOpen(false);
  }

  function chooseActive(event) {
    const { value, action } = rows[active];
    if (action && event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onAction(value);
    else onChoose(value);
  }

  /** @returns {boolean} whether the key was for the list */
  function handleKey(event) {
    if (!isOpen() || rows.length === 0 || event.isComposing) return false;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) activate(active < 0 && steps[event.key] < 0 ? rows.length - 1 : (active + steps[event.key] + rows.length) % rows.length);
    else if (isCurrent && active >= 0 && !event.shiftKey && (event.key === 'Enter' || event.key === 'Tab')) chooseActive(event);
    else return false;
    event.preventDefault();
    return true;
  }

  return { show, tell, expire, close, isOpen, handleKey };
}
