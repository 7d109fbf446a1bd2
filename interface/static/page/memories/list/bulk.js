import { errorText } from '../../core/api.js';
import { memoriesStrings } from '../../strings/en/memories.js';
import { MOST_SELECTED } from './selection_model.js';
import { askText } from '../../ui/controls/dialog.js';
import { element, setHidden } from '../../ui/dom.js';
import { chooseContext, chooseKind } from '../filing/choices.js';
import { button } from '../controls.js';
import { showToast } from '../../ui/notices/toast.js';

const words = memoriesStrings.bulk;
/** As many as can be in one conflict. */
const MOST_OPPOSED = 50;

/**
 * What can be done to all selected memories at once, and taken back as one.
 *
 * @param {object} page
 * @param {import('./selection_model.js').ClaimSelection} selection
 * @param {{onCleared: () => void, onAll: () => void, refresh: () => Promise<void>}} shown `onAll`: the person wants all that match
 * @returns {{node: HTMLElement, update: (fits?: boolean, matching?: number) => void}} `matching`: how many there are, where all of the
 *   page are selected and there are more; else 0
 */
export function createBulkBar(page, selection, { onCleared, onAll, refresh }) {
  const counted = element('span', { class: 'memories-bulk-count', role: 'status' });
  const node = element('div', { class: 'memories-bulk', role: 'toolbar', 'aria-label': words.label, hidden: true }, counted);

  function clear() {
    selection.clear();
    onCleared();
  }

  async function change(kind, value) {
    const ids = selection.ids;
    const answer = await page.attempt(() => page.api.pkbChangeClaims(ids, kind, value));
    if (!answer) return;
    const failed = answer.results.filter(({ success }) => !success);
    if (failed.length < ids.length) page.tellDone(words.done[kind](ids.length - failed.length), answer.audit_id);
    if (failed.length) showToast(words.failed(failed.length, errorText({ ...failed[0], message: failed[0].error })), { kind: 'error' });
    clear();
    page.changed({ show: false });
    await refresh();
  }

  async function oppose() {
    const ids = selection.ids;
    const answer = await page.attempt(() => page.api.pkbAddConflict(ids), { creates: true });
    if (!answer) return;
    page.tellDone(words.opposed(ids.length), answer.audit_id);
    clear();
    page.changed({ show: false });
    await refresh();
  }

  /** Asks first; no answer changes nothing. */
  const asking = (kind, ask) => async () => {
    const value = await ask(selection.size);
    if (value) await change(kind, value);
  };

  const actions = [
    [words.tag, 'tag', asking('add_tag', (n) => askText({ title: words.tagTitle(n), label: words.tagLabel, confirmLabel: words.tag }))],
    [words.context, 'folder', asking('add_to_context', async (n) => (await chooseContext(page, words.contextTitle(n)))?.context_id)],
    [words.domain, 'collection', asking('set_domain', (n) => chooseKind(page, 'domains', words.domainTitle(n)))],
    [words.type, 'bookmark', asking('set_type', (n) => chooseKind(page, 'types', words.typeTitle(n)))],
    [words.retract, 'trash', () => change('retract')],
  ];
  const conflict = button(words.conflict, oppose, { symbol: 'exclamation-triangle', class: 'btn btn-quiet btn-compact' });
  const all = button('', onAll, { class: 'memories-clear' });
  node.append(
    all,
    ...actions.map(([label, symbol, run]) => button(label, run, { symbol, class: 'btn btn-quiet btn-compact' })),
    conflict,
    button(words.clear, clear, { symbol: 'x-lg', class: 'btn btn-quiet btn-compact' }));

  return {
    node,
    update(fits = true, matching = 0) {
      const reachable = Math.min(matching, MOST_SELECTED);
      setHidden(all, reachable <= selection.size);
      all.textContent = reachable < matching ? words.first(reachable) : words.all(reachable);
      counted.textContent = words.count(selection.size);
      setHidden(conflict, selection.size < 2 || selection.size > MOST_OPPOSED);
      setHidden(node, selection.size === 0);
      if (!fits) showToast(words.limit(MOST_SELECTED));
    },
  };
}
