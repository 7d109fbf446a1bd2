import { beginningsOf } from './find_model.js';

const MOST = 1000;
const ALL = 'found-text';
const CURRENT = 'found-text-current';

/** The places of a text in an element, across the elements in it, as ranges. */
function rangesIn(node, wanted) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  const parts = [];
  let text = '';
  while (walker.nextNode()) {
    parts.push({ node: walker.currentNode, start: text.length });
    text += walker.currentNode.data;
  }
  let last = 0;
  const place = (at) => {
    while (parts[last + 1]?.start <= at) last += 1;
    return [parts[last].node, at - parts[last].start];
  };
  return beginningsOf(text, wanted, MOST).map((at) => {
    const range = new Range();
    range.setStart(...place(at));
    const [endNode, endAt] = place(at + wanted.length - 1);
    range.setEnd(endNode, endAt + 1);
    return range;
  });
}

/** @param {Element|null|undefined} node @param {string} wanted @returns {boolean} whether a text stands there as it is shown */
export const says = (node, wanted) => Boolean(node) && beginningsOf(node.textContent, wanted, 1).length > 0;

/** What is marked, for each container that shows something found. */
const marked = new Map();

function show() {
  // A browser that can't mark shows the message all the same.
  if (!CSS.highlights) return;
  const all = [...marked.values()];
  CSS.highlights.set(ALL, new globalThis.Highlight(...all.flatMap(({ others }) => others)));
  CSS.highlights.set(CURRENT, new globalThis.Highlight(...all.flatMap(({ current }) => current)));
}

/**
 * Marks a text in what cards show, without changing them.
 *
 * @param {HTMLElement} container of the cards
 * @param {string} wanted '' for nothing
 * @param {HTMLElement|null} currentCard
 * @returns {Range|null} the first place in the current card
 */
export function highlight(container, wanted, currentCard) {
  const bodies = wanted ? [...container.querySelectorAll('.message-body')] : [];
  const current = [];
  const others = [];
  for (const body of bodies) (currentCard?.contains(body) ? current : others).push(...rangesIn(body, wanted));
  if (wanted) marked.set(container, { current, others });
  else marked.delete(container);
  show();
  return current[0] ?? null;
}
