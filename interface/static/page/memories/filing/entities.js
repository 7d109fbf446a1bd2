/** The tab of entities: the people, places and things that memories are about. */

import { memoriesStrings } from '../../strings/en/memories.js';
import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { spoken } from '../memory_model.js';
import { PAGE_SIZE } from '../query_model.js';
import { element } from '../../ui/dom.js';
import { openDialog } from '../dialog.js';
import { createPager } from '../list/pager.js';
import { button, createLoader, emptyBlock, field, select } from '../controls.js';
import { searchField } from '../../ui/controls/search_field.js';
import { recordRow } from './records.js';

const words = memoriesTabStrings.entities;

/** Name and kind of an entity; undefined where the person went away. */
function askEntity({ title, name = '', entity_type: kind = 'person' }) {
  const input = element('input', { class: 'form-control', type: 'text', maxlength: '200', required: true, autocomplete: 'off' });
  input.value = name;
  const type = select(words.types.map((each) => [each, spoken(each)]), kind);
  const save = element('button', { type: 'submit', class: 'btn btn-primary', text: memoriesStrings.panel.save });
  const dialog = openDialog({
    title,
    content: [element('div', { class: 'stack' }, field(words.name, input), field(words.type, type))],
    buttons: [button(memoriesStrings.panel.cancel, () => dialog.close()), save],
    onSubmit: () => {
      const given = input.value.trim();
      if (given) dialog.close({ name: given, entity_type: type.value });
      else input.focus();
    },
  });
  input.focus();
  return dialog.closed;
}

/** @param {ReturnType<typeof import('../page.js').createMemoriesPage>} page */
export function createTab(page) {
  let query = '';
  let number = 1;
  const list = element('ul', { class: 'memories-records', 'aria-label': words.label });
  const loader = createLoader(list);
  const pager = createPager((next) => {
    number = next;
    refresh();
  });
  const search = searchField((text) => {
    query = text.trim();
    number = 1;
    refresh();
  }, { placeholder: words.search, 'aria-label': words.search, maxlength: '200' });
  const node = element('div', { class: 'memories-tab-content' },
    element('div', { class: 'memories-head memories-head-line' }, search, button(words.new, create, { symbol: 'plus-lg', class: 'btn btn-primary' })),
    element('div', { class: 'memories-scroller' }, loader.node, element('div', { class: 'memories-list-foot' }, pager.node)));

  async function save(job) {
    const answer = await page.attempt(job);
    if (!answer) return;
    page.tellDone(memoriesStrings.editor.saved, answer.audit_id);
    page.changed();
  }

  async function create() {
    const entity = await askEntity({ title: words.newTitle });
    if (entity) await save(() => page.api.pkbAddEntity(entity));
  }

  async function edit(entity) {
    const changes = await askEntity({ title: words.editTitle, ...entity });
    if (changes) await save(() => page.api.pkbEditEntity(entity.entity_id, changes));
  }

  async function remove({ entity_id: id, name }) {
    const answer = await page.attempt(() => page.api.pkbDeleteEntity(id));
    if (!answer) return;
    page.tellDone(words.deleted(name), answer.audit_id);
    page.changed();
  }

  function row(entity) {
    const onOpen = () => page.go({ tab: 'memories', entity: entity.friendly_id });
    return recordRow(entity, {
      note: spoken(entity.entity_type), count: words.count(entity.claim_count ?? 0), openLabel: words.show(entity.name), onOpen,
      items: [
        { symbol: 'search', label: words.show(entity.name), run: onOpen },
        { symbol: 'pencil', label: words.rename, run: () => edit(entity) },
        { symbol: 'trash', label: words.delete, run: () => remove(entity), danger: true },
      ],
    });
  }

  function show({ entities, total_count: total }) {
    list.replaceChildren(...entities.map(row));
    pager.show({ page: number, total, shown: entities.length });
    if (entities.length === 0) loader.say(emptyBlock(query ? { title: memoriesStrings.list.none } : { title: words.empty, text: words.emptyText }));
  }

  function refresh() {
    const params = { q: query || undefined, limit: PAGE_SIZE, offset: (number - 1) * PAGE_SIZE };
    return loader.load((options) => page.api.pkbEntities(params, options), show);
  }

  function handleKey(event) {
    if (event.key !== '/') return;
    event.preventDefault();
    search.focus();
  }

  return { node, show: refresh, refresh, handleKey };
}
