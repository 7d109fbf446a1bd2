/** The tab of all memories: search, filters, the list, adding. */

import { bring } from '../../core/api.js';
import { memoriesStrings } from '../../strings/en/memories.js';
import { claimParams, isNarrowed, isShownBy, withoutFilters } from '../query_model.js';
import { element } from '../../ui/dom.js';
import { createMemoryBrowser } from './browser.js';
import { createFilters } from './filters.js';
import { showShortcuts } from '../help.js';
import { button, emptyBlock, iconButton } from '../controls.js';

const words = memoriesStrings;

function noMatch(page) {
  return emptyBlock({
    title: words.list.none, text: words.list.noneHint, children: [button(words.search.clear, () => page.go(withoutFilters()))],
  });
}

/** What a memory is, and how to get the first ones. */
function noMemories(page, onAdd) {
  const list = words.list;
  return emptyBlock({
    title: list.empty,
    text: list.emptyText,
    steps: list.emptySteps,
    children: [
      element('p', { text: list.example }),
      element('ul', { class: 'memories-examples' }, ...list.examples.map((text) =>
        element('li', {}, button(text, () => onAdd(text), { class: 'btn btn-quiet memories-example' })))),
      element('div', { class: 'memories-buttons' },
        button(words.search.add, () => onAdd(), { symbol: 'plus-lg', class: 'btn btn-primary' }),
        button(words.tab.add, () => page.go({ tab: 'add' })),
        button(words.tab.transfer, () => page.go({ tab: 'transfer' }))),
    ],
  });
}

/** @param {ReturnType<typeof import('../page.js').createMemoriesPage>} page */
export function createTab(page) {
  let shownState = null;
  const filters = createFilters(page, (changes, options) => page.go(changes, options));
  const browser = createMemoryBrowser(page, {
    ask: (options) => ask(page.state(), options),
    askFor: (window) => page.api.pkbListClaims({ ...claimParams(page.state()), ...window }),
    pageNumber: () => page.state().page,
    onPage: (number, options) => page.go({ page: number }, options),
    onShown: (claims) => filters.name(page.state(), claims),
    belongs: (claim) => isShownBy(page.state(), claim),
    takesNew: () => page.state().page === 1 && page.state().q.trim() === '',
    empty: () => (isNarrowed(page.state()) ? noMatch(page) : noMemories(page, add)),
  });

  async function ask(state, options) {
    if (!state.claim) return page.api.pkbListClaims(claimParams(state), options);
    const { claim } = await page.api.pkbGetClaim(state.claim, options);
    return { claims: [claim], total_count: 1 };
  }

  async function add(statement = '') {
    const { addMemory } = await bring(() => import('../editor/editor.js'));
    if (await addMemory(page, { statement })) await browser.refresh();
  }

  async function addMany() {
    const { addManyMemories } = await bring(() => import('../editor/many.js'));
    if (await addManyMemories(page)) await browser.refresh();
  }

  const buttons = element('div', { class: 'memories-tools' },
    button(words.search.add, () => add(), { symbol: 'plus-lg', class: 'btn btn-primary', id: 'add-memory' }),
    button(words.search.addMany, addMany),
    iconButton('question-circle', words.panel.help, showShortcuts));
  const scroller = element('div', { class: 'memories-scroller' }, browser.node);
  const node = element('div', { class: 'memories-tab-content' },
    element('div', { class: 'memories-head' }, filters.node, buttons), scroller);

  function handleKey(event) {
    const keys = { '/': filters.focus, a: () => add(), '?': showShortcuts };
    if (!(event.key in keys)) return browser.handleKey(event);
    event.preventDefault();
    return keys[event.key]();
  }

  function show(state) {
    filters.show(state);
    if (shownState !== state) {
      const turned = shownState && claimParams(shownState).offset !== claimParams(state).offset;
      if (turned) browser.toTop();
      shownState = state;
    }
    return browser.refresh().then(() => {
      if (state.page !== 1) scroller.scrollTop = 0;
    });
  }

  return { node, show, refresh: browser.refresh, follow: browser.follow, showPins: browser.showPins, handleKey, escape: browser.escape };
}
