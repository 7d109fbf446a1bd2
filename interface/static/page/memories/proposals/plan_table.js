/** Proposed memories as a table: what is to be kept, and how. Used wherever memories are proposed. */

import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { excerpt, referenceTo, spoken } from '../memory_model.js';
import { element, inRow } from '../../ui/dom.js';
import { createPager } from '../list/pager.js';
import { button, select } from '../controls.js';

const words = memoriesTabStrings.plan;
const ROWS = 50;

/** Roles as they are in a table: the narrow layout, which is none, would lose them. */
const cell = (label, ...children) => element('td', { role: 'cell', 'data-label': label }, ...children);

function statementArea(plan, index) {
  const area = element('textarea', { class: 'form-control memories-area', rows: '2', 'aria-label': words.statement });
  area.value = plan.valueOf(index, 'statement');
  return area;
}

function existingNode({ existing, similarity, reason }) {
  const alike = similarity ? words.similarity(Math.round(similarity * 100)) : '';
  return [
    existing ? element('p', { class: 'memories-existing', text: existing.statement }) : null,
    existing ? element('p', { class: 'memories-note', text: [referenceTo(existing), alike].filter(Boolean).join(' · ') }) : null,
    reason ? element('p', { class: 'memories-note', text: reason }) : null,
  ];
}

/**
 * @param {import('./plan_model.js').IngestionPlan} plan
 * @param {{types: Array<[string, string]>, domains: Array<[string, string]>, onChange: () => void}} options
 * @returns {HTMLElement}
 */
export function createPlanTable(plan, { types, domains, onChange }) {
  let number = 1;
  const counted = element('span', { class: 'memories-note', role: 'status' });
  const body = element('tbody', { role: 'rowgroup' });
  const headings = [words.keep, words.action, words.statement, words.type, words.domain, words.existing];
  const table = element('table', { class: 'memories-plan', role: 'table', 'aria-label': words.label },
    element('thead', { role: 'rowgroup' }, element('tr', { role: 'row' }, ...headings.map((text) => element('th', { role: 'columnheader', scope: 'col', text })))), body);
  const pager = createPager((next) => {
    number = next;
    draw();
  });

  function tell() {
    counted.textContent = words.count(plan.approvedCount, plan.proposals.length);
    onChange();
  }

  function kind(index, field, options) {
    const value = plan.valueOf(index, field);
    const all = options.some(([name]) => name === value) ? options : [...options, [value, spoken(value)]];
    const node = select(all, value, { 'aria-label': words[field === 'claim_type' ? 'type' : 'domain'] });
    node.addEventListener('change', () => {
      plan.change(index, field, node.value);
      tell();
    });
    return node;
  }

  function row(proposal) {
    const { index } = proposal;
    const box = element('input', { type: 'checkbox', class: 'memory-select', 'aria-label': words.approve(excerpt(proposal.statement)) });
    box.checked = plan.isApproved(index);
    const statement = statementArea(plan, index);
    const node = element('tr', { role: 'row', class: `action-${proposal.action}`, 'data-index': index },
      cell(words.keep, box),
      cell(words.action, element('span', { class: 'memories-action', text: words.actions[proposal.action] ?? spoken(proposal.action) })),
      cell(words.statement, statement),
      cell(words.type, kind(index, 'claim_type', types)),
      cell(words.domain, kind(index, 'context_domain', domains)),
      cell(words.existing, ...existingNode(proposal)));
    const mark = () => node.classList.toggle('left-out', !plan.isApproved(index));
    box.addEventListener('change', () => {
      plan.approve(index, box.checked);
      mark();
      tell();
    });
    statement.addEventListener('input', () => {
      plan.change(index, 'statement', statement.value.trim());
      tell();
    });
    mark();
    return node;
  }

  function draw() {
    const shown = plan.proposals.slice((number - 1) * ROWS, number * ROWS);
    body.replaceChildren(...shown.map(row));
    pager.show({ page: number, total: plan.proposals.length, shown: shown.length, size: ROWS });
    tell();
  }

  const approveAll = (approved) => () => {
    plan.approveAll(approved);
    draw();
  };
  draw();
  return element('div', { class: 'memories-plan-place' },
    element('div', { class: 'memories-buttons' }, counted, button(words.all, approveAll(true), { class: 'btn btn-quiet btn-compact' }),
      button(words.none, approveAll(false), { class: 'btn btn-quiet btn-compact' })),
    element('div', { class: 'table-frame' }, table), pager.node);
}

/**
 * What became of each proposal that was approved.
 *
 * @param {import('./plan_model.js').IngestionPlan} plan
 * @param {object} outcome of `execute_ingest`
 * @param {{onShow: (claimId: string) => void}} options
 */
export function planOutcome(plan, outcome, { onShow }) {
  const counts = [
    [outcome.added_count, words.added], [outcome.updated_count, words.updated], [outcome.conflict_count, words.conflicts], [outcome.failed_count, words.failed],
  ];
  const rows = outcome.results.slice(0, 2 * ROWS).map(({ index, success, action, claim_id: id, error }) =>
    element('li', { class: success ? 'result-ok' : 'result-failed' },
      element('span', { class: 'memories-result-text', text: plan.valueOf(index, 'statement') }),
      element('span', { class: 'memories-note', text: success ? words.result[action] ?? spoken(action) : error }),
      success && id ? button(words.show, () => onShow(id), { class: 'memories-clear', ...inRow(words.show, excerpt(plan.valueOf(index, 'statement'))) }) : null));
  return element('div', { class: 'memories-outcome' },
    element('p', { role: 'status', text: words.done(counts.filter(([n]) => n).map(([n, say]) => say(n))) || words.execute(0) }),
    element('ul', { class: 'memories-results' }, ...rows));
}
