/** Small parts that the tabs of the Memories panel are built from. */

import { icon } from '../ui/icons.js';
import { memoriesStrings } from '../strings/en/memories.js';
import { copyAndSay } from '../ui/copy_fallbacks.js';
import { element, setHidden, whenReleased } from '../ui/dom.js';

const words = memoriesStrings.panel;
const PATIENCE_MS = 300;
let fields = 0;

/** @param {string} label @param {() => void} onclick @param {{symbol?: string, class?: string}} [options] and attributes */
export function button(label, onclick, { symbol, class: className = 'btn btn-quiet', ...attributes } = {}) {
  return element('button', { type: 'button', class: className, onclick, ...attributes }, symbol ? icon(symbol) : null, label);
}

/** A button that is only an icon; its label is its name and its tooltip. */
export function iconButton(symbol, label, onclick, attributes = {}) {
  return element('button', { type: 'button', class: 'icon-button', title: label, 'aria-label': label, onclick, ...attributes }, icon(symbol));
}

/** A control with its label above and a hint below. */
export function field(label, control, { hint = '', class: className = '' } = {}) {
  fields += 1;
  control.id ||= `memories-field-${fields}`;
  const about = hint ? element('p', { class: 'field-hint', id: `${control.id}-hint`, text: hint }) : null;
  if (about) control.setAttribute('aria-describedby', about.id);
  return element('div', { class: `field ${className}`.trim() },
    element('label', { class: 'field-label', for: control.id, text: label }), control, about);
}

/** @param {Array<[string, string]>} options value and label @param {string} chosen */
export function select(options, chosen, attributes = {}) {
  const node = element('select', { class: 'form-control memories-select', ...attributes });
  fillSelect(node, options, chosen);
  return node;
}

/** Gives a select its options. A chosen value that is not among them is added: nothing is chosen for the person. */
export function fillSelect(node, options, chosen) {
  const known = options.some(([value]) => value === chosen);
  const all = known ? options : [...options, [chosen, chosen]];
  node.replaceChildren(...all.map(([value, label]) => element('option', { value, text: label })));
  node.value = chosen;
}

/** A check box with its label. */
export function checkbox(label, checked, onchange, attributes = {}) {
  const input = element('input', { type: 'checkbox', class: 'memories-check', onchange: () => onchange?.(input.checked), ...attributes });
  input.checked = checked;
  return element('label', { class: 'memories-check-label' }, input, element('span', { text: label }));
}

/** The friendly id as a button that copies it as a reference, and says so, as the transcript's badge does. */
export function referenceBadge(reference) {
  const node = element('button', { type: 'button', class: 'memories-badge', title: words.copyReference(reference) });
  node.textContent = reference;
  node.addEventListener('click', () => copyAndSay(reference, node, words.copied));
  return node;
}

/** What stands in the place of things that are not there: what they are, and how to get some. */
export function emptyBlock({ title, text = '', steps = [], children = [] }) {
  const rows = steps.map(([what, then]) => element('li', {}, element('strong', { text: what }), ` ${then}`));
  return element('section', { class: 'empty-state memories-empty' },
    element('h2', { text: title }), text ? element('p', { text }) : null, ...children, rows.length ? element('ul', {}, ...rows) : null);
}

/** Says what failed, and offers to try again. */
export function failureBlock(text, onAgain) {
  return element('section', { class: 'failure-state', role: 'alert' }, element('p', { text }), onAgain && button(words.again, onAgain));
}

/**
 * Loads into a place. What was there stays until the answer comes; a wait is told only when it is long; a failure is
 * said with a way to try again; of two loads the newer counts.
 *
 * @param {HTMLElement} content what is shown when all is well
 * @returns {{node: HTMLElement, load: (ask: (options: {signal: AbortSignal}) => Promise<any>, show: (answer: any) => void) => Promise<void>,
 *            say: (block: HTMLElement|null) => void, outcome: () => 'loading'|'loaded'|'failed'}} `say` puts a block in the
 *   content's place; `outcome` is that of the newest load
 */
export function createLoader(content) {
  const note = element('p', { class: 'memories-loading', role: 'status' });
  const state = element('div', { class: 'memories-state', hidden: true });
  const node = element('div', { class: 'memories-loaded' }, note, state, content);
  let current = null;
  let outcome = 'loading';

  function say(block) {
    state.replaceChildren(...(block ? [block] : []));
    setHidden(state, !block);
    setHidden(content, Boolean(block));
  }

  async function load(ask, show) {
    current?.abort();
    const mine = new AbortController();
    current = mine;
    outcome = 'loading';
    const timer = setTimeout(() => {
      note.textContent = words.loading;
      node.setAttribute('aria-busy', 'true');
    }, PATIENCE_MS);
    try {
      const answer = await ask({ signal: mine.signal });
      await whenReleased();
      if (current !== mine) return;
      outcome = 'loaded';
      say(null);
      show(answer);
    } catch (error) {
      if (current !== mine) return;
      outcome = 'failed';
      say(failureBlock(words.loadFailed(error.message), () => load(ask, show)));
    } finally {
      clearTimeout(timer);
      if (current === mine) {
        note.textContent = '';
        node.removeAttribute('aria-busy');
      }
    }
  }

  return { node, load, say, outcome: () => outcome };
}
