import { icon } from '../../ui/icons.js';
import { strings } from '../../strings/en/conversation.js';
import { excerpt } from '../../core/words/excerpt.js';
import { memoriesUsed } from '../message_model.js';
import { element, setHidden } from '../../ui/dom.js';
import { createChip } from '../../references/chips.js';

const words = strings.used;
const EXCERPT_LENGTH = 100;

/** One memory: its reference, how it came along, and what it says now, which is looked up by its id. */
function row({ claimId, friendlyId, source }, page) {
  const chip = createChip(`@${friendlyId}`, null, page, { isTitled: false });
  const came = words.source[source] ?? source;
  const details = element('span', { class: 'used-details', text: came });
  page.references.get(claimId).then((entry) => {
    chip.show(entry);
    // Whatever direction a memory is written in, what follows keeps its own.
    if (entry.preview) details.replaceChildren(element('bdi', { text: excerpt(entry.preview, EXCERPT_LENGTH) }), ` · ${came}`);
  }, () => {});
  return element('li', { class: 'used-entry' }, chip.node, details);
}

/**
 * What an answer was given beside the conversation: how many memories in one line, and which when it is opened.
 *
 * @param {object} page
 */
export function createMemoriesUsed(page) {
  const line = element('summary', { class: 'used-line' });
  const list = element('ul', { class: 'used-list' });
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
    line.replaceChildren(words.begin, icon('lightbulb'), words.memories(memories.length));
    fill();
  }

  return { node, update };
}
