import { strings } from '../lib/strings.js';
import { memoriesUsed } from '../models/message.js';
import { element, setHidden } from './dom.js';
import { createChip } from './reference_chips.js';

const words = strings.used;

/** One memory: its reference, which looks up by its id what it says now, and how it came along. */
function row({ claimId, friendlyId, source }, page) {
  const chip = createChip(`@${friendlyId}`, null, page);
  page.references.get(claimId).then(chip.show, () => {});
  return element('li', { class: 'report-entry' }, chip.node,
    element('span', { class: 'report-details', text: words.source[source] ?? source }));
}

/**
 * What an answer was given beside the conversation: how many memories in one line, and which when it is opened.
 *
 * @param {object} page
 */
export function createMemoriesUsed(page) {
  const line = element('summary', { class: 'report-line' });
  const list = element('ul', { class: 'report-list' });
  const node = element('details', { class: 'memories-used', hidden: true }, line, list);
  let shown = [];
  let isListed = false;

  // Most lists are never opened: their memories are looked up when they are.
  function fill() {
    if (!node.open || isListed) return;
    isListed = true;
    list.replaceChildren(...shown.map((memory) => row(memory, page)));
  }

  node.addEventListener('toggle', fill);

  /** @param {object} message */
  function update(message) {
    const memories = memoriesUsed(message);
    setHidden(node, memories.length === 0);
    if (JSON.stringify(memories) === JSON.stringify(shown)) return;
    shown = memories;
    isListed = false;
    line.replaceChildren(`${words.begin} `, element('span', { 'aria-hidden': 'true', text: '🧠 ' }), words.memories(memories.length));
    fill();
  }

  return { node, update };
}
