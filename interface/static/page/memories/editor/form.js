import { icon } from '../../ui/icons.js';
import { memoriesStrings } from '../../strings/en/memories.js';
import { splitNames } from '../memory_model.js';
import { STATUSES } from '../query_model.js';
import { askText } from '../../ui/controls/dialog.js';
import { element } from '../../ui/dom.js';
import { addKind, chooseContext } from '../filing/choices.js';
import { button, field, fillSelect, select } from '../controls.js';

const words = memoriesStrings.editor;
const NEW = '\u0000new';
const FRIENDLY_ID = /^[a-zA-Z][a-zA-Z0-9_-]*[a-zA-Z0-9]$/;

/** A select of types or domains that also makes new ones. */
function kindSelect(page, kind, chosen, onChosen) {
  const own = kind === 'types' ? [words.newType, words.newTypeTitle] : [words.newDomain, words.newDomainTitle];
  const node = select([], chosen);
  let value = chosen;
  let options = [];

  function fill() {
    fillSelect(node, [...options, ...(options.some(([name]) => name === value) ? [] : [[value, value]]), [NEW, own[0]]], value);
  }

  async function choose() {
    if (node.value !== NEW) value = node.value;
    else {
      node.value = value;
      const name = await askText({ title: own[1], label: words.name, maxLength: 60 });
      const added = name && (await page.attempt(async () => ({ name: await addKind(page, kind, name) })));
      if (added) {
        value = added.name;
        options = [...options, [value, name]];
        fill();
      }
    }
    onChosen();
  }

  page.catalogue[kind]().then((list) => {
    options = list;
    fill();
  }, () => {});
  node.addEventListener('change', choose);
  fill();
  return {
    node,
    get: () => value,
    set(next) {
      value = next;
      fill();
    },
  };
}

/** The contexts that a memory is filed under, each to be taken away, and more to be added. */
function contextField(page, initial, onChanged) {
  let contexts = [...initial];
  const node = element('div', { class: 'memories-chips' });

  function show() {
    node.replaceChildren(
      ...contexts.map((context) => element('button', {
        type: 'button', class: 'memories-chip', 'aria-label': words.removeContext(context.name), onclick: () => change(contexts.filter((each) => each !== context)),
      }, icon('folder'), element('span', { class: 'memories-chip-value', text: context.name }), icon('x-lg'))),
      button(words.addContext, add, { symbol: 'plus-lg', class: 'memories-clear' }));
  }

  function change(next) {
    contexts = next;
    show();
    onChanged();
  }

  async function add() {
    const chosen = new Set(contexts.map(({ context_id: id }) => id));
    const context = await chooseContext(page, words.addContext, { without: ({ context_id: id }) => chosen.has(id) });
    if (context) change([...contexts, { context_id: context.context_id, name: context.name, friendly_id: context.friendly_id }]);
  }

  show();
  const label = element('p', { class: 'field-label', text: words.contexts });
  return { node: element('div', { class: 'field' }, label, node), get: () => contexts };
}

const day = (iso) => (iso ?? '').slice(0, 10);

function inputs(initial) {
  const text = (value, attributes = {}) => {
    const node = element('input', { class: 'form-control', type: 'text', autocomplete: 'off', ...attributes });
    node.value = value;
    return node;
  };
  const area = (value, attributes) => {
    const node = element('textarea', { class: 'form-control memories-area', ...attributes });
    node.value = value;
    return node;
  };
  return {
    statement: area(initial.statement, { rows: '3', maxlength: '20000', required: true, id: 'memory-statement' }),
    tags: text(initial.tags.join(', ')),
    entities: text(initial.entities.map(({ name }) => name).join(', ')),
    friendlyId: text(initial.friendly_id, { maxlength: '128', spellcheck: 'false', autocapitalize: 'none' }),
    confidence: text(initial.confidence ?? '', { type: 'number', min: '0', max: '1', step: '0.05', placeholder: '1.0' }),
    from: text(day(initial.valid_from), { type: 'date' }),
    to: text(day(initial.valid_to), { type: 'date' }),
    questions: area((initial.possible_questions ?? []).join('\n'), { rows: '2' }),
  };
}

/** The day that the person chose; the moment as it was where they did not. */
const momentOf = (input, before) => (input.value === day(before) ? before : input.value || null);

/**
 * The fields of a memory.
 *
 * @param {object} page
 * @param {object} initial
 * @param {{onChange: () => void}} options
 * @returns {{statementField: HTMLElement, node: HTMLElement, value: () => object, set: (form: object) => void, check: () => string|null,
 *            focus: () => void, touched: Set<string>}} `touched`: the fields that the person, and nobody else, filled in
 */
export function createMemoryForm(page, initial, { onChange }) {
  const hasReference = Boolean(initial.claim_id);
  const touched = new Set(hasReference || initial.friendly_id ? ['friendly_id'] : []);
  const touch = (name) => {
    touched.add(name);
    onChange();
  };
  const given = inputs(initial);
  const type = kindSelect(page, 'types', initial.claim_type, () => touch('claim_type'));
  const domain = kindSelect(page, 'domains', initial.context_domain, () => touch('context_domain'));
  const contexts = contextField(page, initial.contexts, onChange);
  for (const [name, input] of Object.entries(given)) input.addEventListener('input', () => touch(name === 'friendlyId' ? 'friendly_id' : name));

  // What another memory makes of this one is not chosen by itself.
  const isChosen = (name) => name === initial.status || !['all', 'contested', 'superseded'].includes(name);
  const statuses = STATUSES.filter(isChosen).map((name) => [name, memoriesStrings.search.statuses[name]]);
  const status = hasReference ? select(statuses, initial.status) : null;
  status?.addEventListener('change', onChange);

  const more = element('details', { class: 'memories-more' }, element('summary', { text: words.more }),
    element('div', { class: 'stack' },
      // A reference that was given once may stand in any message: it stays.
      hasReference ? null : field(words.friendlyId, given.friendlyId, { hint: words.friendlyIdHint }),
      status ? field(words.status, status) : null,
      element('div', { class: 'memories-row' }, field(words.validFrom, given.from), field(words.validTo, given.to), field(words.confidence, given.confidence)),
      field(words.questions, given.questions, { hint: words.questionsHint })));
  const node = element('div', { class: 'stack' },
    element('div', { class: 'memories-row' }, field(words.type, type.node), field(words.domain, domain.node)),
    field(words.tags, given.tags, { hint: words.tagsHint }),
    field(words.entities, given.entities, { hint: words.entitiesHint }),
    contexts.node, more);

  /** Names as typed; what is known about an entity of that name is kept. */
  let known = initial.entities;
  const entities = () => splitNames(given.entities.value).map((name) => known.find((entity) => entity.name === name) ?? { name });

  function value() {
    return {
      statement: given.statement.value.trim(),
      claim_type: type.get(),
      context_domain: domain.get(),
      tags: splitNames(given.tags.value),
      entities: entities(),
      contexts: contexts.get(),
      friendly_id: given.friendlyId.value.trim().replace(/^@/, ''),
      confidence: given.confidence.value === '' ? null : Number(given.confidence.value),
      valid_from: momentOf(given.from, initial.valid_from),
      valid_to: momentOf(given.to, initial.valid_to),
      possible_questions: given.questions.value.split('\n').map((line) => line.trim()).filter(Boolean),
      ...(status ? { status: status.value } : {}),
    };
  }

  function set(form) {
    known = [...known, ...form.entities];
    type.set(form.claim_type);
    domain.set(form.context_domain);
    given.tags.value = form.tags.join(', ');
    given.entities.value = form.entities.map(({ name }) => name).join(', ');
    given.friendlyId.value = form.friendly_id;
    onChange();
  }

  function check() {
    const { statement, friendly_id: id } = value();
    if (!statement) {
      given.statement.focus();
      return words.required;
    }
    const wrong = id && (id.length < 3 || id.length > 128 || !FRIENDLY_ID.test(id));
    if (wrong) more.open = true;
    return wrong ? words.friendlyIdWrong : null;
  }

  return {
    statementField: field(words.statement, given.statement, { hint: words.statementHint }),
    node, value, set, check, touched,
    focus() {
      given.statement.focus();
      given.statement.setSelectionRange(given.statement.value.length, given.statement.value.length);
    },
  };
}
