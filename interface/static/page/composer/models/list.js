import { saidText } from '../../core/words/said.js';
import { composerStrings } from '../../strings/en/composer.js';
import { aboutChoice } from './choices_model.js';
import { element, setHidden, uniqueId } from '../../ui/dom.js';
import { createListbox } from '../../ui/controls/listbox.js';
import { hidePopup, showBeside } from '../../ui/controls/popup.js';

const words = composerStrings.models;

/**
 * A list of models beside a button.
 *
 * @param {HTMLButtonElement} button
 * @param {{onChoose: (id: string) => void, onForNew: (on: boolean) => void}} options
 */
export function createModelList(button, { onChoose, onForNew }) {
  const list = createListbox({ id: uniqueId('model-list'), label: words.label, className: 'model-list', onChoose });
  const note = element('p', { class: 'composer-popup-note', role: 'status' });
  const again = element('button', { type: 'button', class: 'btn btn-sm btn-quiet', hidden: true });
  const box = element('input', { type: 'checkbox', class: 'form-check-input' });
  const forNew = element('label', { class: 'composer-option' }, box, element('span', { text: words.forNew }));
  const popup = element('div', { class: 'composer-popup model-popup', popover: 'auto', role: 'dialog', 'aria-label': words.label }, list.node, note, again, forNew);
  let isFresh = false;

  const isOpen = () => popup.matches(':popover-open');

  function optionFor(choice, chosen) {
    const bar = choice.state.phase === 'fetching' && typeof choice.state.progress === 'number'
      ? element('progress', { class: 'model-progress', max: '1', value: String(choice.state.progress), 'aria-label': choice.name }) : null;
    return {
      value: choice.id, key: choice.id, text: choice.name, isChosen: choice.id === chosen, title: saidText(choice.state.detail, choice.state.said) || null,
      content: [element('span', { class: 'option-title', text: choice.name }), element('span', { class: 'option-about', text: aboutChoice(choice, words) }), ...(bar ? [bar] : [])],
    };
  }

  /** What is shown is only made anew while somebody looks; whoever is at a model stays there. */
  function show({ groups, chosen, note: { keys, more }, forNew: { isOn, isFixed } }) {
    if (!isOpen()) return;
    setHidden(list.node, false);
    list.show(groups.map(({ kind, choices }) => ({ label: words.groups[kind], options: choices.map((choice) => optionFor(choice, chosen)) })), { keepsPlace: true });
    if (list.active < 0) list.activate(Math.max(0, list.positionOf(chosen)));
    const before = more ? `${more} ` : '';
    if (note.textContent !== before + keys) note.replaceChildren(before, element('span', { class: 'suggestions-keys', text: keys }));
    setHidden(again, true);
    setHidden(forNew, false);
    box.checked = isOn;
    box.disabled = isFixed;
    showBeside(popup, button, { align: 'end' });
  }

  function tell(text, remedy = null) {
    list.clear();
    note.textContent = text;
    setHidden(list.node, true);
    setHidden(forNew, true);
    setHidden(again, !remedy);
    if (!remedy) return;
    again.textContent = remedy.label;
    again.onclick = remedy.onAct;
    again.focus();
  }

  box.addEventListener('change', () => onForNew(box.checked));
  popup.addEventListener('toggle', ({ newState }) => {
    button.setAttribute('aria-expanded', String(newState === 'open'));
    if (newState === 'open') return;
    if (popup.contains(document.activeElement) || document.activeElement === document.body) button.focus();
    popup.remove();
    list.clear();
  });

  return {
    isOpen,
    show(shown) {
      show(shown);
      if (isFresh && isOpen()) list.node.focus();
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
