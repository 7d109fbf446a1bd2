/** The tab of conflicts: memories that cannot all be true, side by side, until the person decides. */

import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { shortTime } from '../../core/words/times.js';
import { excerpt, referenceTo, spoken } from '../memory_model.js';
import { element, inRow } from '../../ui/dom.js';
import { createPager } from '../list/pager.js';
import { button, createLoader, emptyBlock, field, referenceBadge } from '../controls.js';

const words = memoriesTabStrings.conflicts;
const ROWS = 20;
const BOTH = 'both';

function memberNode(claim, choice) {
  const time = claim.updated_at || claim.created_at;
  return element('div', { class: 'memories-side' },
    element('p', { class: 'memory-statement', text: claim.statement }),
    element('p', { class: 'memories-note', text: [spoken(claim.claim_type), spoken(claim.context_domain), shortTime(time)].filter(Boolean).join(' · ') }),
    referenceBadge(referenceTo(claim)), choice);
}

function radio(name, value, label, row, onChange) {
  const input = element('input', { type: 'radio', name, value, ...inRow(label, row), onchange: onChange });
  return element('label', { class: 'memories-check-label' }, input, element('span', { text: label }));
}

/** A conflict with what is needed to decide it. `onResolve({winningClaimId, notes})`. */
function openConflict(conflict, onResolve) {
  const name = `conflict-${conflict.conflict_set_id}`;
  const first = excerpt(conflict.members[0]?.statement ?? '');
  let chosen = null;
  const problem = element('p', { class: 'notice notice-error', role: 'alert', hidden: true, text: words.pick });
  const choose = (event) => {
    chosen = event.target.value;
    problem.hidden = true;
  };
  const note = element('input', { class: 'form-control', type: 'text', maxlength: '1000', autocomplete: 'off' });
  const resolve = button(words.resolve, async () => {
    problem.hidden = Boolean(chosen);
    if (!chosen) return;
    resolve.disabled = true;
    await onResolve({ winningClaimId: chosen === BOTH ? undefined : chosen, notes: note.value.trim() });
    resolve.disabled = false;
  }, { class: 'btn btn-primary', ...inRow(words.resolve, first) });
  return element('fieldset', { class: 'memories-conflict' },
    element('legend', { text: words.title(conflict.members.length) }),
    element('p', { class: 'memories-note', text: [words.found(shortTime(conflict.created_at)), conflict.resolution_notes].filter(Boolean).join(' · ') }),
    element('div', { class: 'memories-sides' }, ...conflict.members.map((claim) => memberNode(claim, radio(name, claim.claim_id, words.choose, excerpt(claim.statement), choose)))),
    radio(name, BOTH, words.keepBoth, first, choose), field(words.note, note), problem, element('div', { class: 'memories-buttons' }, resolve));
}

/** @param {ReturnType<typeof import('../page.js').createMemoriesPage>} page */
export function createTab(page) {
  let number = 1;
  const list = element('div', { class: 'memories-conflicts' });
  const loader = createLoader(list);
  const pager = createPager((next) => {
    number = next;
    refresh();
  });
  const node = element('div', { class: 'memories-tab-content' },
    element('div', { class: 'memories-scroller' }, loader.node, element('div', { class: 'memories-list-foot' }, pager.node)));

  async function resolve({ conflict_set_id: id }, decision) {
    const answer = await page.attempt(() => page.api.pkbResolveConflict(id, decision));
    if (!answer) return;
    page.tellDone(words.done, answer.audit_id);
    page.changed();
  }

  function show({ conflicts }) {
    number = Math.min(number, Math.max(1, Math.ceil(conflicts.length / ROWS)));
    const shown = conflicts.slice((number - 1) * ROWS, number * ROWS);
    list.replaceChildren(...shown.map((conflict) => openConflict(conflict, (decision) => resolve(conflict, decision))));
    pager.show({ page: number, total: conflicts.length, shown: shown.length, size: ROWS });
    if (conflicts.length === 0) loader.say(emptyBlock({ title: words.empty, text: words.emptyText }));
  }

  function refresh() {
    return loader.load((options) => page.api.pkbConflicts(options), show);
  }

  /** Whether something is chosen or written, or was found missing. */
  const isBegun = () => list.querySelector('input:checked, [role=alert]:not([hidden])') !== null
    || [...list.querySelectorAll('input[type="text"]')].some(({ value }) => value);

  /** What changed elsewhere waits while a decision is being made, also where that begins while it is asked for. */
  function follow() {
    if (!isBegun()) loader.load((options) => page.api.pkbConflicts(options), (answer) => isBegun() || show(answer));
  }

  return { node, show: refresh, refresh, follow };
}
