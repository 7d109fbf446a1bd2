/** Dialogs of the Memories panel that hold more than one question. */

import { memoriesStrings } from '../strings/en/memories.js';
import { failureText } from '../ui/notices/attempts.js';
import { openDialog as openFormDialog } from '../ui/controls/dialog.js';
import { element } from '../ui/dom.js';
import { button } from './controls.js';

const MOST_CHOICES = 100;
const DEEPEST = 6;

/** A dialog of `ui/controls/dialog.js` in the looks of the panel. @param {{wide?: boolean}} options */
export function openDialog({ wide = false, ...options }) {
  return openFormDialog({ ...options, className: `memories-dialog${wide ? ' wide' : ''}` });
}

/**
 * Lets the person choose from a list, by letters, arrows and Enter, or by pointer.
 *
 * @param {{title: string, options: Array<{value: any, label: string, depth?: number, note?: string}>, none: string,
 *          filterLabel: string, create?: {label: (text: string) => string, make: (text: string) => Promise<any>}}} question
 *   `create` makes a new one from what was typed
 * @returns {Promise<any>} the value; undefined when nothing was chosen
 */
export function chooseFrom({ title, options, none, filterLabel, create }) {
  const input = element('input', { class: 'form-control', type: 'search', 'aria-label': filterLabel, placeholder: filterLabel, autocomplete: 'off' });
  const list = element('div', { class: 'memories-choices', role: 'group', 'aria-label': title });
  const problem = element('p', { class: 'notice notice-error', role: 'alert', hidden: true });
  const cancel = button(memoriesStrings.panel.cancel, () => dialog.close());
  const dialog = openDialog({ title, content: [input, problem, list], buttons: [cancel], onSubmit: () => list.querySelector('button')?.click() });

  async function makeNew(text) {
    try {
      dialog.close(await create.make(text));
    } catch (error) {
      problem.textContent = failureText(error, memoriesStrings.panel.failed, { creates: true });
      problem.hidden = false;
    }
  }

  function show() {
    const letters = input.value.trim().toLowerCase();
    const matching = options.filter(({ label }) => label.toLowerCase().includes(letters)).slice(0, MOST_CHOICES);
    const rows = matching.map(({ value, label, depth = 0, note = '' }) => element('button', {
      type: 'button', class: `memories-choice memories-depth-${letters ? 0 : Math.min(depth, DEEPEST)}`, onclick: () => dialog.close(value),
    }, element('span', { text: label }), note ? element('span', { class: 'memories-note', text: note }) : null));
    const isNew = create && letters && !options.some(({ label }) => label.toLowerCase() === letters);
    if (isNew) rows.push(button(create.label(input.value.trim()), () => makeNew(input.value.trim()), { symbol: 'plus-lg', class: 'memories-choice' }));
    list.replaceChildren(...(rows.length ? rows : [element('p', { class: 'memories-note', text: none })]));
  }

  input.addEventListener('input', show);
  dialog.node.addEventListener('keydown', (event) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const stops = [input, ...list.querySelectorAll('button')];
    const at = stops.indexOf(document.activeElement);
    stops[Math.max(0, Math.min(stops.length - 1, at + steps[event.key]))].focus();
  });
  show();
  input.focus();
  return dialog.closed;
}
