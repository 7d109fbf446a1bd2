import { memoryStrings } from '../../strings/en/memory_proposals.js';
import { categoryLabel } from '../memory_model.js';
import { DOMAINS, tagsIn, TYPES } from './draft_model.js';
import { element, setHidden } from '../../ui/dom.js';

const words = memoryStrings.confirm;

function field(label, control) {
  return element('label', { class: 'field' }, element('span', { class: 'field-label', text: label }), control);
}

/** @param {Array<{name: string, label?: string}>} choices */
function addOptions(select, choices) {
  const known = new Set([...select.options].map(({ value }) => value));
  const added = choices.filter(({ name }) => !known.has(name));
  select.append(...added.map((each) => element('option', { value: each.name, text: categoryLabel(each) })));
}

function choice(names) {
  const select = element('select', { class: 'form-select' });
  addOptions(select, names.map((name) => ({ name })));
  return select;
}

/** Sets a choice, also to a name that was not among those known. */
function choose(select, name) {
  addOptions(select, [{ name }]);
  select.value = name;
}

/**
 * What is filled in for a new memory.
 *
 * @param {object} draft
 * @param {(field: string, value: any) => void} onDecide called when the person changes one
 */
export function createMemoryFields(draft, onDecide) {
  const statement = element('textarea', { class: 'form-control', rows: 2 });
  const claimType = choice(TYPES);
  const domain = choice(DOMAINS);
  const tags = element('input', { class: 'form-control', type: 'text', autocomplete: 'off', placeholder: words.tagsHint });
  const about = element('p', { class: 'memory-note', hidden: true });
  statement.value = draft.statement;
  statement.addEventListener('input', () => onDecide('statement', statement.value));
  claimType.addEventListener('change', () => onDecide('claim_type', claimType.value));
  domain.addEventListener('change', () => onDecide('context_domain', domain.value));
  tags.addEventListener('input', () => onDecide('tags', tagsIn(tags.value)));

  /** @param {Set<string>} decided the fields that are the person's, which are left alone */
  function show(shown, decided) {
    choose(claimType, shown.claim_type);
    choose(domain, shown.context_domain);
    if (!decided.has('tags')) tags.value = shown.tags.join(', ');
    const names = shown.entities.map(({ name }) => name);
    setHidden(about, names.length === 0);
    about.textContent = words.about(names.join(', '));
  }

  show(draft, new Set());
  return {
    nodes: [
      field(words.statement, statement),
      element('div', { class: 'memory-fields' }, field(words.type, claimType), field(words.domain, domain), field(words.tags, tags)),
      about,
    ],
    show,
    /** @param {{types?: Array<{name: string, label: string}>, domains?: Array<{name: string, label: string}>}} choices that can be chosen too */
    offer({ types = [], domains = [] }) {
      addOptions(claimType, types);
      addOptions(domain, domains);
    },
  };
}
