/** The tab of what happened to the memories, each change with a way to take it back. */

import { memoriesStrings } from '../../strings/en/memories.js';
import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { fullTime, shortTime } from '../../core/words/times.js';
import { describeChange } from './history_model.js';
import { tellFailure } from '../../ui/notices/attempts.js';
import { element } from '../../ui/dom.js';
import { button, createLoader, emptyBlock } from '../controls.js';
import { showToast } from '../../ui/notices/toast.js';

const words = memoriesTabStrings.history;
const ROWS = 50;

/** @param {ReturnType<typeof import('../page.js').createMemoriesPage>} page */
export function createTab(page) {
  /** Where each page begins: numbers of changes to look before, the first of them undefined. */
  let starts = [undefined];
  const list = element('ul', { class: 'memories-history', 'aria-label': words.label });
  const loader = createLoader(list);
  const newer = button(words.newer, () => turn(starts.slice(0, -1)), { symbol: 'arrow-left' });
  const older = button(words.older, () => turn([...starts, oldest]), { symbol: 'arrow-right' });
  let oldest;
  const node = element('div', { class: 'memories-tab-content' },
    element('div', { class: 'memories-scroller' }, loader.node, element('div', { class: 'memories-list-foot memories-buttons' }, newer, older)));

  function turn(next) {
    starts = next;
    refresh();
  }

  async function undo(entry, control) {
    control.disabled = true;
    try {
      await page.api.pkbUndo(entry.audit_id);
      showToast(memoriesStrings.panel.undone, { kind: 'success' });
      page.changed();
    } catch (error) {
      control.disabled = false;
      const failed = error.code === 'conflict' ? () => words.conflict : memoriesStrings.panel.failed;
      tellFailure(error, { failed, again: () => undo(entry, control) });
    }
  }

  function row(entry) {
    const said = describeChange(entry, words);
    const control = entry.can_undo
      ? button(memoriesStrings.panel.undo, () => undo(entry, control), { symbol: 'arrow-counterclockwise', class: 'btn btn-quiet btn-compact', 'aria-label': words.undo(said) })
      : null;
    return element('li', { class: `memories-change${entry.undone_by ? ' undone' : ''}` },
      element('time', { class: 'memories-note', datetime: entry.created_at, title: fullTime(entry.created_at), text: shortTime(entry.created_at) }),
      element('span', { class: 'memories-change-text', text: said }),
      entry.undone_by ? element('span', { class: 'memories-note', text: words.undone }) : null, control);
  }

  function show({ entries }) {
    oldest = entries.at(-1)?.audit_seq;
    list.replaceChildren(...entries.map(row));
    newer.hidden = starts.length < 2;
    older.hidden = entries.length < ROWS;
    if (entries.length === 0) loader.say(emptyBlock({ title: words.empty, text: words.emptyText }));
  }

  function refresh() {
    return loader.load((options) => page.api.pkbAudit({ limit: ROWS, before: starts.at(-1) }, options), show);
  }

  return { node, show: refresh, refresh };
}
