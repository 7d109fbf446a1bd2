/** The tab of tags, in the order of their tree. */

import { memoriesStrings } from '../../strings/en/memories.js';
import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { FilingTree } from './tree_model.js';
import { askText } from '../../ui/controls/dialog.js';
import { element, setHidden } from '../../ui/dom.js';
import { chooseFrom } from '../dialog.js';
import { createPager } from '../list/pager.js';
import { button, createLoader, emptyBlock } from '../controls.js';
import { searchField } from '../../ui/controls/search_field.js';
import { recordRow } from './records.js';

const words = memoriesTabStrings.tags;
const ROWS = 100;
const PORTION = 1000;
/** A tree is shown of so many; nobody reads more. The search of memories knows them all. */
const MOST_TAGS = 5000;

async function allTags(api, options) {
  const { tags, total_count: total } = await api.pkbTags({ limit: PORTION, offset: 0 }, options);
  while (tags.length < Math.min(total, MOST_TAGS)) {
    const answer = await api.pkbTags({ limit: PORTION, offset: tags.length }, options);
    if (answer.tags.length === 0) break;
    tags.push(...answer.tags);
  }
  return { tree: new FilingTree(tags, { id: 'tag_id', parent: 'parent_tag_id' }), total };
}

/** @param {ReturnType<typeof import('../page.js').createMemoriesPage>} page */
export function createTab(page) {
  let tree = null;
  let query = '';
  let number = 1;
  const note = element('p', { class: 'memories-note', hidden: true });
  const list = element('ul', { class: 'memories-records', 'aria-label': words.label });
  const loader = createLoader(list);
  const pager = createPager((next) => {
    number = next;
    draw();
  });
  const search = searchField((text) => {
    query = text;
    number = 1;
    draw();
  }, { placeholder: words.search, 'aria-label': words.search, maxlength: '200', delay: 50 });
  const node = element('div', { class: 'memories-tab-content' },
    element('div', { class: 'memories-head memories-head-line' }, search, button(words.new, () => create(null), { symbol: 'plus-lg', class: 'btn btn-primary' })),
    element('div', { class: 'memories-scroller' }, note, loader.node, element('div', { class: 'memories-list-foot' }, pager.node)));

  async function change(job, said) {
    const answer = await page.attempt(job);
    if (!answer) return;
    page.tellDone(said, answer.audit_id);
    page.changed();
  }

  async function create(parent) {
    const title = parent ? words.newBelowTitle(parent.name) : words.newTitle;
    const name = await askText({ title, label: words.name });
    if (name) await change(() => page.api.pkbAddTag({ name, parent_tag_id: parent?.tag_id ?? null }), memoriesStrings.editor.saved);
  }

  async function rename(tag) {
    const name = await askText({ title: words.renameTitle, label: words.name, value: tag.name });
    if (name && name !== tag.name) await change(() => page.api.pkbEditTag(tag.tag_id, { name }), memoriesStrings.editor.saved);
  }

  async function move(tag) {
    const rows = tree.outline().filter(({ thing }) => tree.mayMove(tag.tag_id, thing.tag_id));
    const target = await chooseFrom({
      title: words.moveTitle, filterLabel: words.search, none: memoriesStrings.list.none,
      options: [{ value: { tag_id: null }, label: memoriesTabStrings.contexts.top }, ...rows.map(({ thing, depth }) => ({ value: thing, label: thing.name, depth }))],
    });
    if (target) await change(() => page.api.pkbEditTag(tag.tag_id, { parent_tag_id: target.tag_id }), memoriesStrings.editor.saved);
  }

  function row({ thing: tag, depth }) {
    const onOpen = () => page.go({ tab: 'memories', tag: tag.friendly_id });
    return recordRow(tag, {
      note: '', count: words.count(tag.claim_count ?? 0), openLabel: words.show(tag.name), onOpen, depth,
      items: [
        { symbol: 'search', label: words.show(tag.name), run: onOpen },
        { symbol: 'plus-lg', label: words.newBelow, run: () => create(tag) },
        { symbol: 'pencil', label: words.rename, run: () => rename(tag) },
        { symbol: 'arrow-right', label: words.move, run: () => move(tag) },
        { symbol: 'trash', label: words.delete, run: () => change(() => page.api.pkbDeleteTag(tag.tag_id), words.deleted(tag.name)), danger: true },
      ],
    });
  }

  function draw() {
    if (!tree) return;
    const rows = tree.outline({ query });
    const shown = rows.slice((number - 1) * ROWS, number * ROWS);
    list.replaceChildren(...shown.map(row));
    pager.show({ page: number, total: rows.length, shown: shown.length, size: ROWS });
    loader.say(rows.length ? null : emptyBlock(query ? { title: memoriesStrings.list.none } : { title: words.empty, text: words.emptyText }));
  }

  function refresh() {
    return loader.load((options) => allTags(page.api, options), (answer) => {
      ({ tree } = answer);
      setHidden(note, tree.size >= answer.total);
      note.textContent = words.partial(tree.size, answer.total);
      draw();
    });
  }

  function handleKey(event) {
    if (event.key !== '/') return;
    event.preventDefault();
    search.focus();
  }

  return { node, show: refresh, refresh, handleKey };
}
