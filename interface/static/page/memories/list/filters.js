import { icon } from '../../ui/icons.js';
import { memoriesStrings } from '../../strings/en/memories.js';
import { spoken } from '../memory_model.js';
import { STATUSES, STRATEGIES, activeFilters, nameIn, withoutFilter, withoutFilters } from '../query_model.js';
import { element, setHidden } from '../../ui/dom.js';
import { searchField } from '../../ui/controls/search_field.js';
import { button, checkbox, fillSelect, select } from '../controls.js';

const words = memoriesStrings.search;

function chip({ name, value }, label, onRemove) {
  const said = words.filter[name];
  return element('button', {
    type: 'button', class: 'memories-chip', 'aria-label': words.remove(said, label), title: words.remove(said, label), onclick: onRemove, 'data-filter': name,
    'data-value': value,
  }, element('span', { class: 'memories-chip-name', text: `${said}:` }), element('span', { class: 'memories-chip-value', text: label }), icon('x-lg'));
}

/**
 * Search and filters of the memories, each filter that is set as a chip that takes it away.
 *
 * @param {object} page
 * @param {(changes: object, options?: {replace?: boolean}) => void} onChange
 * @returns {{node: HTMLElement, show: (state: object) => void, focus: () => void}}
 */
export function createFilters(page, onChange) {
  const input = searchField((q) => onChange({ q }, { replace: true }), { id: 'memories-search', placeholder: words.placeholder, 'aria-label': words.label });
  const box = element('div', { class: 'memories-search', role: 'search', 'aria-label': words.label }, icon('search'), input);
  const strategy = select(STRATEGIES.map((name) => [name, words.strategies[name]]), 'hybrid', { 'aria-label': words.strategy });
  const type = select([['', words.anyType]], '', { 'aria-label': words.type });
  const domain = select([['', words.anyDomain]], '', { 'aria-label': words.domain });
  const status = select(STATUSES.map((name) => [name, words.statuses[name]]), 'active', { 'aria-label': words.status });
  const pinned = checkbox(words.pinned, false, (on) => onChange({ pinned: on ? 'true' : '' }));
  const chips = element('div', { class: 'memories-chips', hidden: true });
  const choices = element('div', { class: 'memories-filter-row', id: 'memories-filter-choices', hidden: true }, type, domain, status, strategy, pinned);
  const toggle = button(words.filters, () => {
    toggle.setAttribute('aria-expanded', String(choices.hidden));
    setHidden(choices, !choices.hidden);
  }, { symbol: 'sliders', 'aria-expanded': 'false', 'aria-controls': choices.id });
  const node = element('div', { class: 'memories-filters' }, box, toggle, choices, chips);
  for (const [name, control] of Object.entries({ type, domain, status, strategy })) {
    control.addEventListener('change', () => onChange({ [name]: control.value }));
  }

  async function fillKinds(state) {
    try {
      const [types, domains] = await Promise.all([page.catalogue.types(), page.catalogue.domains()]);
      fillSelect(type, [['', words.anyType], ...types], state.type);
      fillSelect(domain, [['', words.anyDomain], ...domains], state.domain);
    } catch {
      // The filters that are there still work; the next look asks again.
    }
  }

  function labelOf({ name, value }) {
    if (name === 'pinned') return words.yes;
    if (name === 'group') return value.replaceAll('&', ' & ');
    if (name === 'status') return words.statuses[value];
    return ['type', 'domain'].includes(name) ? spoken(value) : value;
  }

  function show(state) {
    // What is being typed is not replaced by what was asked for before.
    if (document.activeElement !== input) input.value = state.q;
    for (const [control, value] of [[strategy, state.strategy], [status, state.status]]) control.value = value;
    fillSelect(type, [...type.options].map((each) => [each.value, each.text]), state.type);
    fillSelect(domain, [...domain.options].map((each) => [each.value, each.text]), state.domain);
    pinned.querySelector('input').checked = state.pinned === 'true';
    fillKinds(state);
    const set = activeFilters(state);
    chips.replaceChildren(
      ...set.map((filter) => chip(filter, labelOf(filter), () => onChange(withoutFilter(filter.name)))),
      button(words.clear, () => {
        input.value = '';
        onChange(withoutFilters());
      }, { class: 'memories-clear' }));
    setHidden(chips, set.length === 0);
  }

  /** Calls filters by the names that the memories which passed them tell. */
  function name(state, claims) {
    for (const filter of activeFilters(state)) {
      const label = nameIn(filter, claims);
      const node = label && chips.querySelector(`[data-filter="${filter.name}"]`);
      if (!node) continue;
      node.querySelector('.memories-chip-value').textContent = label;
      node.title = words.remove(words.filter[filter.name], label);
      node.setAttribute('aria-label', node.title);
    }
  }

  return {
    node, show, name,
    focus() {
      input.focus();
      input.select();
    },
  };
}
