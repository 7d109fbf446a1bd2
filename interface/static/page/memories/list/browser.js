import { memoriesStrings } from '../../strings/en/memories.js';
import { touchedClaims, withChanges } from '../changes_model.js';
import { PAGE_SIZE } from '../query_model.js';
import { ClaimSelection, MOST_SELECTED } from './selection_model.js';
import { warningsIn } from '../../core/words/said.js';
import { element, setHidden, whenReleased } from '../../ui/dom.js';
import { createMemoryActions } from './actions.js';
import { createBulkBar } from './bulk.js';
import { MemoryList } from './list.js';
import { createPager } from './pager.js';
import { createLoader } from '../controls.js';

const words = memoriesStrings;
const PORTION = 200;

/**
 * Memories, a page at a time, with all that can be done to them, singly and together.
 *
 * @param {object} page
 * @param {object} options
 * @param {(options: {signal: AbortSignal}) => Promise<{claims: object[], total_count: number, warnings?: string[]}>} options.ask
 * @param {(window: {limit: number, offset: number}) => Promise<{claims: object[]}>} [options.askFor] the same from anywhere in the list
 * @param {() => number} options.pageNumber
 * @param {(page: number, options?: {replace?: boolean}) => void} options.onPage
 * @param {() => HTMLElement} options.empty what stands where there are none
 * @param {(claims: object[]) => void} [options.onShown]
 * @param {(claim: object) => object[]} [options.moreItems] further items of a memory's menu
 * @param {(claim: object) => boolean} [options.belongs] whether the list shows such a memory; without, the server has to say
 * @param {() => boolean} [options.takesNew] whether the list shows the newest memories
 */
export function createMemoryBrowser(page, {
  ask, askFor = null, pageNumber, onPage, empty, onShown = () => {}, moreItems = () => [], belongs = null, takesNew = () => false,
}) {
  const selection = new ClaimSelection();
  let matching = 0;
  let total = 0;
  let followed = Promise.resolve();
  let timesShown = 0;
  const counted = element('p', { class: 'memories-count', role: 'status' });
  const selectAll = element('input', { type: 'checkbox', class: 'memory-select', 'aria-label': words.list.selectPage, title: words.list.selectPage });
  const warnings = element('ul', { class: 'memories-warnings', hidden: true });
  const actions = createMemoryActions(page, { replace, refresh });
  const bulk = createBulkBar(page, selection, { onCleared: () => showSelection(), onAll: selectMatching, refresh });
  const head = element('div', { class: 'memories-list-head' }, selectAll, counted, bulk.node);
  const pager = createPager(onPage);
  const list = new MemoryList({
    actions, selection,
    itemsOf: (claim) => [...actions.itemsOf(claim), ...moreItems(claim)],
    onSelection: (fits) => showSelection(fits),
    onFilter: (change) => page.go({ tab: 'memories', open: '', ...change }),
  });
  const loader = createLoader(list.node);
  const foot = element('div', { class: 'memories-list-foot' }, pager.node);
  const node = element('div', { class: 'memories-browser' }, head, warnings, loader.node, foot);

  function replace(claim) {
    timesShown += 1;
    list.replace(withPin(claim));
  }

  /** The pins of the open conversation are not the memory's own. */
  function withPin(claim) {
    return { ...claim, pinned_here: page.isPinnedHere(claim.claim_id) };
  }

  selectAll.addEventListener('change', () => {
    const fits = selection.setListed(selectAll.checked);
    showSelection(fits);
  });

  function showSelection(fits = true) {
    list.showSelection();
    selectAll.checked = selection.listed === 'all';
    selectAll.indeterminate = selection.listed === 'some';
    bulk.update(fits, selection.listed === 'all' ? matching : 0);
    setHidden(counted, selection.size > 0);
  }

  /** Selects beyond the page, as many as can be changed at once. */
  async function selectMatching() {
    await page.attempt(async () => {
      const most = Math.min(matching, MOST_SELECTED);
      for (let offset = 0; offset < most; offset += PORTION) {
        selection.add((await askFor({ limit: Math.min(PORTION, most - offset), offset })).claims);
      }
    });
    showSelection();
  }

  function show(answer) {
    const { claims, total_count: counts } = answer;
    const told = warningsIn(answer);
    if (claims.length === 0 && counts > 0 && pageNumber() > 1) {
      onPage(Math.max(1, Math.ceil(counts / PAGE_SIZE)), { replace: true });
      return;
    }
    warnings.replaceChildren(...told.map((text) => element('li', { text })));
    setHidden(warnings, told.length === 0);
    showPage(claims, counts);
  }

  function showPage(claims, counts) {
    total = counts;
    timesShown += 1;
    list.show(claims.map(withPin));
    const range = pager.show({ page: pageNumber(), total, shown: claims.length });
    matching = askFor ? total : 0;
    counted.textContent = words.count.range(range.first, range.last, total);
    setHidden(head, claims.length === 0);
    showSelection();
    onShown(claims);
    if (claims.length === 0) loader.say(empty());
  }

  function refresh() {
    return loader.load(ask, show);
  }

  /** @returns {Promise<[string, object|null]>} null for a memory that is gone */
  async function lookUp(claimId) {
    try {
      return [claimId, (await page.api.pkbGetClaim(claimId, { quiet: true })).claim];
    } catch (error) {
      if (error.code === 'claim_not_found') return [claimId, null];
      throw error;
    }
  }

  async function showChanges(changes) {
    const claimIds = belongs && touchedClaims(changes);
    if (!claimIds || loader.outcome() !== 'loaded') return refresh();
    const [state, times] = [page.state(), timesShown];
    const found = new Map(await Promise.all(claimIds.map(lookUp)));
    await whenReleased();
    // What was changed here meanwhile may be newer than the answers.
    if (state !== page.state() || times !== timesShown || loader.outcome() !== 'loaded') return refresh();
    const after = withChanges({ claims: list.claims, total }, found, { belongs, takesNew: takesNew(), size: PAGE_SIZE });
    if (after.claims.length === 0 && after.total > 0) return refresh();
    loader.say(null);
    return showPage(after.claims, after.total);
  }

  /** Shows what changed elsewhere: the memories that are named are asked for alone, where the others are here already. */
  function follow(changes) {
    if (loader.outcome() === 'failed') return followed;
    followed = followed.then(() => showChanges(changes)).catch(refresh);
    return followed;
  }

  function handleKey(event) {
    if (event.key === 'n' || event.key === 'b') pager.step(event.key === 'n' ? 1 : -1);
    else list.handleKey(event);
  }

  /** @returns {boolean} whether there was a selection to clear */
  function escape() {
    if (selection.size === 0) return false;
    selection.clear();
    showSelection();
    return true;
  }

  return { node, list, actions, selection, refresh, follow, showPins: () => list.show(list.claims.map(withPin)), handleKey, escape, toTop: () => list.rewind() };
}
