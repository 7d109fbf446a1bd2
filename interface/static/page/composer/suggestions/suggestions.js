import { composes } from '../../core/typing.js';
import { composerStrings } from '../../strings/en/composer.js';
import { element, uniqueId } from '../../ui/dom.js';
import { createListbox } from '../../ui/controls/listbox.js';

/**
 * Suggestions above a text field, which keeps the focus.
 *
 * In ARIA's words an editable combobox; but a field of several lines may not have that role, so that it stays a text box
 * that has a listbox, and what is offered is announced.
 *
 * @param {HTMLElement} input
 * @param {{label: string, onChoose: (value: any) => void, onAction?: (value: any) => void, onOlderUsed: () => void}} options as of `createListbox`;
 *   `onOlderUsed`: the person goes through what answers an earlier query, which is not to be replaced any more
 */
export function createSuggestions(input, { label, onChoose, onAction, onOlderUsed }) {
  const list = createListbox({ id: uniqueId('composer-suggestions'), className: 'composer-suggestions', label, field: input, onChoose, onAction, onUse: use });
  const note = element('p', { class: 'suggestions-note' });
  const said = element('p', { class: 'visually-hidden', role: 'status' });
  const box = element('div', { class: 'suggestions', hidden: true }, list.node, note);
  box.addEventListener('mousedown', (event) => event.preventDefault());
  input.parentElement.append(box, said);
  for (const [name, value] of Object.entries({
    'aria-autocomplete': 'list', 'aria-haspopup': 'listbox', 'aria-controls': list.node.id,
  })) input.setAttribute(name, value);
  /** Whether Enter and Tab take the row that was offered first: that of an earlier query is shown, and not taken. */
  let isCurrent = true;
  /** Whether the person went to the active row: that one is taken in any case. */
  let isChosen = false;

  const isOpen = () => !box.hidden;

  /**
   * @param {Array<{label?: string, options: import('../../ui/controls/listbox.js').Option[]}>} groups
   * @param {{keys: string, more?: string, preselects?: boolean, isFuller?: boolean}} said what the keys do, for who has some, and what else there is to say;
   *   `preselects`: Enter takes the first row, also where nobody went to one by the arrows; `isFuller`: what is shown is the same and more
   */
  function show(groups, { keys, more = '', preselects = true, isFuller = false }) {
    list.show(groups, { keepsPlace: isFuller });
    if (!isFuller) settle();
    note.replaceChildren(...(more ? [element('span', { text: `${more} ` })] : []), element('span', { class: 'suggestions-keys', text: keys }));
    said.textContent = composerStrings.suggestions.choices(list.length);
    box.hidden = false;
    if (preselects && list.active < 0) list.activate(0);
  }

  /** What is shown, if anything is, answers an earlier query. */
  function expire() {
    isCurrent = false;
    box.toggleAttribute('data-stale', true);
  }

  function settle() {
    isCurrent = true;
    isChosen = false;
    box.toggleAttribute('data-stale', false);
  }

  function use() {
    if (!isCurrent) onOlderUsed();
    settle();
    isChosen = true;
  }

  /** @param {string} text in the place of suggestions */
  function tell(text) {
    list.clear();
    settle();
    note.textContent = text;
    said.textContent = text;
    box.hidden = false;
  }

  function close() {
    list.clear();
    settle();
    said.textContent = '';
    box.hidden = true;
  }

  /** @returns {boolean} whether the key was for the list */
  function handleKey(event) {
    if (!isOpen()) return false;
    const isTakable = isCurrent || isChosen;
    if (!isTakable && event.key === 'Enter') return false;
    const takes = event.key === 'Tab' && isTakable && list.active >= 0 && !event.shiftKey && !composes(event);
    if (!takes) return list.handleKey(event);
    list.choose(event);
    event.preventDefault();
    return true;
  }

  return { show, tell, expire, close, isOpen, handleKey };
}
