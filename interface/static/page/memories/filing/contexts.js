/** The tab of contexts: their tree, and beside it the memories of the one that is open. */

import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { PAGE_SIZE } from '../query_model.js';
import { element, setHidden } from '../../ui/dom.js';
import { createMemoryBrowser } from '../list/browser.js';
import { createContextActions } from './context_actions.js';
import { ContextTree } from './context_tree.js';
import { openMenu } from '../../ui/controls/menu.js';
import { button, checkbox, createLoader, emptyBlock, referenceBadge } from '../controls.js';
import { referenceTo } from '../memory_model.js';
import { memoriesStrings } from '../../strings/en/memories.js';

const words = memoriesTabStrings.contexts;
const DEEP = 'contexts_deep';

/** What is open: its path, its description, its reference. */
function createHeading(page, onDeep) {
  const title = element('h2', { class: 'memories-context-title' });
  const about = element('p', { class: 'memories-note' });
  const counts = element('p', { class: 'memories-note' });
  const badge = element('span', {});
  const deep = checkbox(words.deep, page.store.get(DEEP) ?? true, (checked) => {
    page.store.set(DEEP, checked);
    onDeep();
  });
  const node = element('div', { class: 'memories-context-head' }, element('div', { class: 'memories-context-name' }, title, badge), about, counts, deep);

  function show(tree, context) {
    title.textContent = context ? tree.path(context.context_id).join(' › ') : words.all;
    about.textContent = context?.description ?? '';
    setHidden(about, !context?.description);
    counts.textContent = context ? words.counts(context.claim_count, context.child_count) : '';
    setHidden(counts, !context);
    setHidden(deep, !context?.child_count);
    badge.replaceChildren(...(context ? [referenceBadge(referenceTo(context))] : []));
  }

  return { node, show, isDeep: () => deep.querySelector('input').checked };
}

/** @param {ReturnType<typeof import('../page.js').createMemoriesPage>} page */
export function createTab(page) {
  let model = null;
  const open = () => (page.state().open ? model?.find(page.state().open) : null) ?? null;
  const actions = createContextActions(page, { model: () => model });
  const heading = createHeading(page, () => browser.refresh());
  const all = button(words.all, () => page.go({ open: '' }), { symbol: 'collection', class: 'memories-all' });
  const tree = new ContextTree({
    open: (id) => page.go({ open: model.get(id).friendly_id }),
    menu: (id, anchor, at) => openMenu(anchor, actions.itemsOf(model.get(id)), { label: memoriesStrings.panel.menu(model.get(id).name), at }),
    move: (id, parentId) => actions.move(model.get(id), parentId),
    drop: (id, claimIds) => browser.actions.fileUnder(model.get(id), claimIds),
  });
  const browser = createMemoryBrowser(page, {
    pageNumber: () => page.state().page,
    onPage: (number, options) => page.go({ page: number }, options),
    ask: (options) => {
      const window = { limit: PAGE_SIZE, offset: (page.state().page - 1) * PAGE_SIZE };
      const context = open();
      if (!context) return page.api.pkbListClaims(window, options);
      if (heading.isDeep() && context.child_count) return page.api.pkbListClaims({ ...window, context: context.context_id }, options);
      return page.api.pkbContextClaims(context.context_id, window, options);
    },
    empty: () => emptyBlock(open() ? { title: words.emptyClaims, text: words.emptyClaimsText } : { title: memoriesStrings.list.empty, text: memoriesStrings.list.emptyText }),
    moreItems: (claim) => {
      const context = open();
      const direct = context && (claim.contexts ?? []).some(({ context_id: id }) => id === context.context_id);
      return direct ? [null, { symbol: 'x-lg', label: words.remove, run: () => actions.removeClaim(context, claim) }] : [];
    },
  });
  const none = element('div', { class: 'memories-tree-empty', hidden: true }, element('p', { class: 'memories-note', text: words.emptyText }));
  const loader = createLoader(element('div', {}, all, tree.node, none));
  const aside = element('div', { class: 'memories-aside' },
    element('div', { class: 'memories-aside-head' }, button(words.new, () => actions.create(null), { symbol: 'folder-plus', class: 'btn btn-primary' })), loader.node);
  const node = element('div', { class: 'memories-tab-content memories-split' }, aside,
    element('div', { class: 'memories-scroller' }, heading.node, browser.node));

  function showTree(loaded) {
    model = loaded;
    setHidden(none, model.size > 0);
    tree.show(model, open()?.context_id ?? null);
    all.setAttribute('aria-current', open() ? 'false' : 'true');
    heading.show(model, open());
    return browser.refresh();
  }

  const refresh = () => loader.load(() => page.catalogue.contexts(), showTree);

  return { node, show: refresh, refresh, handleKey: browser.handleKey, escape: browser.escape };
}
