import { composerStrings } from '../../strings/en/composer.js';
import { aboutChoice } from './choices_model.js';
import { element, setHidden } from '../../ui/dom.js';
import { hidePopup, showBeside } from '../../ui/popup.js';

const words = composerStrings.models;
const TYPED_TOGETHER_MS = 800;

/**
 * A list of models beside a button: arrow keys, Home, End and letters move, Enter chooses, Escape closes.
 *
 * @param {HTMLButtonElement} button
 * @param {{onChoose: (id: string) => void, onForNew: (on: boolean) => void}} options
 */
export function createModelList(button, { onChoose, onForNew }) {
  const list = element('div', { class: 'model-list', role: 'listbox', 'aria-label': words.label, tabindex: '0' });
  const note = element('p', { class: 'composer-popup-note', role: 'status' });
  const again = element('button', { type: 'button', class: 'btn btn-sm btn-quiet', hidden: true });
  const box = element('input', { type: 'checkbox', class: 'form-check-input' });
  const forNew = element('label', { class: 'composer-option' }, box, element('span', { text: words.forNew }));
  const popup = element('div', { class: 'composer-popup model-popup', popover: 'auto', role: 'dialog', 'aria-label': words.label }, list, note, again, forNew);
  let rows = [];
  let active = -1;
  let typed = { text: '', at: 0 };
  let isFresh = false;

  const isOpen = () => popup.matches(':popover-open');

  function activate(position) {
    rows[active]?.node.classList.remove('is-active');
    active = position;
    const row = rows[active];
    if (!row) return;
    row.node.classList.add('is-active');
    row.node.scrollIntoView({ block: 'nearest' });
    list.setAttribute('aria-activedescendant', row.node.id);
  }

  function rowFor(choice, chosen) {
    const position = rows.length;
    const isChosen = choice.id === chosen;
    const bar = choice.state.phase === 'fetching' && typeof choice.state.progress === 'number'
      ? element('progress', { class: 'model-progress', max: '1', value: String(choice.state.progress), 'aria-label': choice.name }) : null;
    const node = element('div', { class: 'model-option', role: 'option', id: `model-option-${position}`, 'aria-selected': String(isChosen), title: choice.state.detail || null },
      element('span', { class: 'option-title', text: choice.name }),
      element('span', { class: 'option-about', text: aboutChoice(choice, words) }), bar);
    node.addEventListener('click', () => onChoose(choice.id));
    rows.push({ id: choice.id, name: choice.name, node });
    return node;
  }

  function groupFor({ kind, choices }, chosen) {
    const id = `model-group-${kind}`;
    const title = element('div', { class: 'suggestions-heading', id, role: 'presentation', text: words.groups[kind] });
    return element('div', { role: 'group', 'aria-labelledby': id }, title, ...choices.map((choice) => rowFor(choice, chosen)));
  }

  /** What is shown is only made anew while somebody looks; whoever is at a model stays there. */
  function show({ groups, chosen, note: { keys, more }, forNew: { isOn, isFixed } }) {
    if (!isOpen()) return;
    const at = rows[active]?.id ?? chosen;
    rows = [];
    list.replaceChildren(...groups.map((group) => groupFor(group, chosen)));
    active = -1;
    activate(Math.max(0, rows.findIndex(({ id }) => id === at)));
    const before = more ? `${more} ` : '';
    if (note.textContent !== before + keys) note.replaceChildren(before, element('span', { class: 'suggestions-keys', text: keys }));
    setHidden(again, true);
    setHidden(list, false);
    setHidden(forNew, false);
    box.checked = isOn;
    box.disabled = isFixed;
    showBeside(popup, button, { align: 'end' });
  }

  function tell(text, remedy = null) {
    rows = [];
    active = -1;
    list.replaceChildren();
    note.textContent = text;
    setHidden(list, true);
    setHidden(forNew, true);
    setHidden(again, !remedy);
    if (!remedy) return;
    again.textContent = remedy.label;
    again.onclick = remedy.onAct;
    again.focus();
  }

  function typeAhead(key, now) {
    const text = now - typed.at < TYPED_TOGETHER_MS ? typed.text + key.toLowerCase() : key.toLowerCase();
    typed = { text, at: now };
    // One letter again and again goes on; several narrow down from where one is.
    const from = text.length === 1 ? active + 1 : active;
    const order = rows.map((_, i) => (from + i) % rows.length);
    const found = order.find((i) => rows[i].name.toLowerCase().startsWith(text)) ?? order.find((i) => rows[i].name.toLowerCase().includes(text));
    if (found !== undefined) activate(found);
  }

  list.addEventListener('keydown', (event) => {
    if (rows.length === 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const { length } = rows;
    const targets = { ArrowDown: (active + 1) % length, ArrowUp: (active - 1 + length) % length, Home: 0, End: length - 1 };
    if (event.key in targets) activate(targets[event.key]);
    else if (event.key === 'Enter' || event.key === ' ') onChoose(rows[active].id);
    else if (event.key.length === 1) typeAhead(event.key, event.timeStamp);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  box.addEventListener('change', () => onForNew(box.checked));
  popup.addEventListener('toggle', ({ newState }) => {
    button.setAttribute('aria-expanded', String(newState === 'open'));
    if (newState === 'open') return;
    if (popup.contains(document.activeElement) || document.activeElement === document.body) button.focus();
    popup.remove();
    rows = [];
  });

  return {
    isOpen,
    show(shown) {
      show(shown);
      if (isFresh && isOpen()) list.focus();
      isFresh = false;
    },
    tell,
    /** @param {string} text while the models are looked for */
    open(text) {
      isFresh = true;
      tell(text);
      showBeside(popup, button, { align: 'end' });
    },
    close: () => hidePopup(popup),
  };
}
