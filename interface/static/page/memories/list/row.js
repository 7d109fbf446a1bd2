import { icon } from '../../ui/icons.js';
import { memoriesStrings } from '../../strings/en/memories.js';
import { fullTime, shortTime } from '../../core/words/times.js';
import { excerpt, isCurrent, marksOf, referenceTo, spoken } from '../memory_model.js';
import { element, inRow } from '../../ui/dom.js';
import { iconButton, referenceBadge } from '../controls.js';

const words = memoriesStrings.list;
const MARK_ICONS = { pinned: 'pin-angle-fill', pinned_here: 'chat', contested: 'exclamation-triangle' };

function markNode({ kind, by }) {
  const text = typeof words.mark[kind] === 'function' ? words.mark[kind](by) : words.mark[kind];
  return element('span', { class: `memory-mark mark-${kind}` }, MARK_ICONS[kind] ? icon(MARK_ICONS[kind]) : null, text);
}

/** Something that a memory is filed under; a click shows what else is. */
function filedUnder(kind, symbol, { name, friendly_id: friendlyId }, onFilter) {
  return element('button', {
    type: 'button', class: `memory-filed filed-${kind}`, title: words.filterBy(memoriesStrings.search.filter[kind], name),
    onclick: () => onFilter({ [kind]: friendlyId }),
  }, icon(symbol), element('span', { text: name }));
}

function plainFilter(name, value, onFilter) {
  return element('button', {
    type: 'button', class: 'memory-filed', title: words.filterBy(memoriesStrings.search.filter[name], spoken(value)),
    text: spoken(value), onclick: () => onFilter({ [name]: value }),
  });
}

function aboutNode(claim, what, { onFilter, onSource }) {
  const time = claim.updated_at || claim.created_at;
  return element('div', { class: 'memory-about' },
    ...marksOf(claim).map(markNode),
    plainFilter('type', claim.claim_type, onFilter),
    claim.context_domain ? plainFilter('domain', claim.context_domain, onFilter) : null,
    ...(claim.contexts ?? []).map((context) => filedUnder('context', 'folder', context, onFilter)),
    ...(claim.entities ?? []).map((entity) => filedUnder('entity', 'person', entity, onFilter)),
    ...(claim.tags ?? []).map((tag) => filedUnder('tag', 'tag', tag, onFilter)),
    claim.source?.message_id ? element('button', {
      type: 'button', class: 'memory-filed memory-source', title: words.openSource, ...inRow(words.fromMessage, what), onclick: () => onSource(claim),
    }, icon('chat-square-text'), element('span', { text: words.fromMessage })) : null,
    element('time', { class: 'memory-time', datetime: time, title: fullTime(time), text: shortTime(time) }));
}

function toolsNode(claim, what, { onUse, onPin, onMenu }) {
  const use = element('button', {
    type: 'button', class: 'btn btn-quiet memory-use', title: words.useTitle, ...inRow(words.use, what), onclick: () => onUse(claim),
  }, icon('plus-lg'), words.use);
  const pinLabel = claim.pinned ? words.unpin : words.pin;
  const pin = iconButton(claim.pinned ? 'pin-angle-fill' : 'pin-angle', pinLabel, () => onPin(claim), {
    class: 'icon-button memory-pin', ...inRow(pinLabel, what), 'aria-pressed': String(Boolean(claim.pinned)),
  });
  const menu = iconButton('three-dots', words.more, () => onMenu(claim, menu), {
    class: 'icon-button memory-menu', ...inRow(words.more, what), 'aria-haspopup': 'menu', 'aria-expanded': 'false',
  });
  return element('div', { class: 'memory-tools' }, referenceBadge(referenceTo(claim)), isCurrent(claim) ? use : null, pin, menu);
}

/**
 * One memory in a list.
 *
 * @param {object} claim
 * @param {{selected: boolean, on: {onSelect: (claim: object, selected: boolean, range: boolean) => void, onFilter: (change: object) => void,
 *          onSource: (claim: object) => void, onUse: (claim: object) => void, onPin: (claim: object) => void,
 *          onMenu: (claim: object, anchor: HTMLElement) => void}}} options
 * @returns {HTMLLIElement}
 */
export function memoryRow(claim, { selected, on }) {
  const what = excerpt(claim.statement);
  const box = element('input', { type: 'checkbox', class: 'memory-select', 'aria-label': words.select(what) });
  box.checked = selected;
  box.addEventListener('click', (event) => on.onSelect(claim, box.checked, event.shiftKey));
  return element('li', { class: `memory${selected ? ' selected' : ''} status-${claim.status}`, 'data-claim-id': claim.claim_id, tabindex: '-1' },
    box,
    element('div', { class: 'memory-body' },
      element('p', { class: 'memory-statement', text: claim.statement }),
      ...(claim.warnings ?? []).map((text) => element('p', { class: 'memories-note', text })),
      aboutNode(claim, what, on)),
    toolsNode(claim, what, on));
}
