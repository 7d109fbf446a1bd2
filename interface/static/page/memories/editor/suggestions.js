import { icon } from '../../ui/icons.js';
import { memoriesStrings } from '../../strings/en/memories.js';
import { createLatest } from '../../core/latest.js';
import { referenceTo } from '../memory_model.js';
import { accept, openSuggestions } from './suggestions_model.js';
import { element, setHidden, whenReleased } from '../../ui/dom.js';
import { button } from '../controls.js';

const words = memoriesStrings.editor;
const DELAY_MS = 600;
const SHORTEST = 8;
const MOST_SIMILAR = 3;

function similarNode({ claim, kind }) {
  return element('li', { class: `memories-similar similar-${kind}` },
    element('strong', { text: memoriesStrings.editor.kind[kind] ?? kind }), ' ',
    element('span', { text: claim.statement }), ' ', element('code', { text: referenceTo(claim) }));
}

/**
 * What a statement would be filed under, and what is like it, asked for when the person stops typing. Each offer is
 * taken by a click; nothing is filled in by itself.
 *
 * @param {object} page
 * @param {object} form of `createMemoryForm`
 * @param {{except?: string}} options `except`: the memory that is being edited is not like itself
 * @returns {{node: HTMLElement, consider: () => void, stop: () => void}}
 */
export function createSuggestions(page, form, { except }) {
  const note = element('p', { class: 'memories-note', role: 'status' });
  const chips = element('div', { class: 'memories-chips', role: 'group', 'aria-label': words.suggestions });
  const similar = element('ul', { class: 'memories-similar-list', 'aria-label': words.similar, hidden: true });
  const node = element('div', { class: 'memories-suggestions' }, note, chips, similar);
  let analysis = null;
  let about = '';
  // A model on this machine may take many seconds: what rules say is shown meanwhile.
  async function ask(statement, options) {
    const quick = await page.api.pkbAnalyzeByRules(statement, options);
    // The buttons below stay where they are pressed.
    await whenReleased();
    if (!options.signal.aborted) {
      analysis = quick;
      show();
    }
    return page.api.pkbAnalyze(statement, options);
  }

  const latest = createLatest(ask, {
    delay: DELAY_MS,
    ready: whenReleased,
    onAnswer: (answer) => {
      analysis = answer;
      note.textContent = '';
      show();
    },
    onError: (error) => {
      note.textContent = error.name === 'AbortError' ? '' : words.suggestionsFailed;
    },
  });

  function take(offers) {
    form.set(offers.reduce(accept, form.value()));
    show();
  }

  function show() {
    const offers = openSuggestions(analysis, form.value(), { touched: form.touched });
    const nodes = offers.map((offer) => {
      const kind = words.suggest[offer.field];
      return button('', () => take([offer]), { class: 'memories-chip suggestion', 'aria-label': words.acceptOne(kind, offer.label) });
    });
    nodes.forEach((each, at) => each.append(icon('plus-lg'),
      element('span', { class: 'memories-chip-name', text: `${words.suggest[offers[at].field]}:` }),
      element('span', { class: 'memories-chip-value', text: offers[at].label })));
    if (offers.length > 1) nodes.push(button(words.acceptAll, () => take(offers), { class: 'memories-clear' }));
    chips.replaceChildren(...nodes);
    const alike = (analysis?.similar ?? []).filter(({ claim }) => claim.claim_id !== except).slice(0, MOST_SIMILAR);
    similar.replaceChildren(...alike.map(similarNode));
    setHidden(similar, alike.length === 0);
  }

  function consider() {
    const { statement } = form.value();
    if (statement !== about) {
      about = statement;
      if (statement.length < SHORTEST) {
        latest.cancel();
        analysis = null;
        note.textContent = '';
      } else {
        note.textContent = words.thinking;
        latest.request(statement);
      }
    }
    show();
  }

  return { node, consider, stop: latest.cancel };
}
