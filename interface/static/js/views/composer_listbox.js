import { strings } from '../lib/strings.js';
import { element } from './dom.js';

/**
 * A list of suggestions above a text field, which keeps the focus.
 *
 * In ARIA's words an editable combobox; but a field of several lines may not have that role, so that it stays a text box
 * that has a listbox, and what is offered is announced.
 *
 * @param {HTMLElement} input
 * @param {{label: string, onChoose: (value: any) => void}} options
 */
export function createListbox(input, { label, onChoose }) {
  const list = element('ul', { id: 'composer-suggestions', role: 'listbox', 'aria-label': label });
  const note = element('p', { class: 'suggestions-note' });
  const said = element('p', { class: 'visually-hidden', role: 'status' });
  const box = element('div', { class: 'suggestions', hidden: true }, list, note);
  input.parentElement.append(box, said);
  for (const [name, value] of Object.entries({
    'aria-autocomplete': 'list', 'aria-haspopup': 'listbox', 'aria-controls': list.id,
  })) input.setAttribute(name, value);
  let values = [];
  let active = -1;

  const isOpen = () => !box.hidden;

  function setOpen(open) {
    box.hidden = !open;
    if (!open) input.removeAttribute('aria-activedescendant');
  }

  function activate(position) {
    list.children[active]?.setAttribute('aria-selected', 'false');
    active = position;
    const option = list.children[active];
    if (!option) return;
    option.setAttribute('aria-selected', 'true');
    option.scrollIntoView({ block: 'nearest' });
    input.setAttribute('aria-activedescendant', option.id);
  }

  function optionFor({ content }, position) {
    const option = element('li', { role: 'option', id: `suggestion-${position}`, 'aria-selected': 'false' }, ...content);
    // The field keeps the focus, and the choice falls when the button is released, as everywhere.
    option.addEventListener('pointerdown', (event) => event.preventDefault());
    option.addEventListener('click', () => onChoose(values[position]));
    option.addEventListener('pointermove', () => active !== position && activate(position));
    return option;
  }

  /**
   * @param {Array<{value: any, content: Node[]}>} options
   * @param {string} keys what the keys do
   */
  function show(options, keys) {
    values = options.map(({ value }) => value);
    list.replaceChildren(...options.map(optionFor));
    note.textContent = keys;
    said.textContent = strings.composer.choices(values.length);
    setOpen(true);
    activate(0);
  }

  /** @param {string} text in the place of suggestions */
  function tell(text) {
    values = [];
    active = -1;
    list.replaceChildren();
    note.textContent = text;
    said.textContent = text;
    setOpen(true);
  }

  function close() {
    values = [];
    active = -1;
    said.textContent = '';
    setOpen(false);
  }

  /** @returns {boolean} whether the key was for the list */
  function handleKey(event) {
    if (!isOpen() || values.length === 0 || event.isComposing) return false;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) activate((active + steps[event.key] + values.length) % values.length);
    else if ((event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab') onChoose(values[active]);
    else return false;
    event.preventDefault();
    return true;
  }

  return { show, tell, close, isOpen, handleKey };
}
