import { formatAddress } from '../core/address.js';
import { icon } from '../ui/icons.js';
import { strings } from '../strings/en/conversation.js';
import { findReferences } from './grammar.js';
import { bareReference, entriesByReference, iconOf, isGiven, isMuted, knowledgeTarget, looksLikeKnowledge } from './report_model.js';
import { element } from '../ui/dom.js';
import { attachReferenceCard, leadsSomewhere, openTarget } from './card.js';

const CONVERSATION = /^conv(?:ersation)?_/;
const SIGNS = /[@#]/;
const UNTOUCHED = 'code, pre, a, .math, .reference-chip';

function reasonOf(entry) {
  return strings.references.status[entry.status] ?? entry.status;
}

function isLost(entry) {
  return !isGiven(entry) && entry.status !== 'streaming';
}

/**
 * A reference as a chip: an icon by kind, struck through with the reason when it leads nowhere.
 *
 * @param {string} typed as it stands in the text
 * @param {object|null} entry of the report, null while it is not known
 * @param {object} page
 */
export function createChip(typed, entry, page) {
  const label = element('span', { class: 'reference-chip-text', text: typed });
  const chip = element('a', { class: 'reference-chip', tabindex: '0', 'data-reference': bareReference(typed) }, icon(iconOf(entry)), label);
  let known = entry;

  attachReferenceCard(chip, async () => {
    if (!known) show(await page.references.get(bareReference(typed)));
    return known;
  }, page);
  chip.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || !leadsSomewhere(known)) return;
    event.preventDefault();
    openTarget(known, page);
  });
  // What leads to no address is no link to the browser, which then does not listen to keys.
  chip.addEventListener('keydown', (event) => {
    if (chip.hasAttribute('href') || (event.key !== 'Enter' && event.key !== ' ')) return;
    event.preventDefault();
    chip.click();
  });
  function show(found) {
    known = found;
    chip.firstElementChild.replaceWith(icon(iconOf(found)));
    chip.dataset.status = found.status;
    const { conversation_id: conversationId, message_id: messageId } = found.target ?? {};
    if (conversationId) chip.href = formatAddress(conversationId, messageId);
    else if (knowledgeTarget(found)) chip.setAttribute('role', 'button');
    if (!isLost(found)) return;
    chip.classList.add('unresolved');
    chip.title = reasonOf(found);
    chip.append(element('span', { class: 'visually-hidden', text: ` (${reasonOf(found)})` }));
  }

  if (entry) show(entry);
  return { node: chip, show };
}

function textNodesOf(node) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT, (text) =>
    SIGNS.test(text.data) && !text.parentElement.closest(UNTOUCHED) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT);
  const found = [];
  while (walker.nextNode()) found.push(walker.currentNode);
  return found;
}

/** Puts chips in the place of the references in one text node. */
function replaceIn(textNode, chipFor) {
  const pieces = [];
  let position = 0;
  for (const { start, end, ref } of findReferences(textNode.data)) {
    const typed = textNode.data.slice(start, end);
    const chip = chipFor(bareReference(ref), typed);
    if (!chip) continue;
    pieces.push(textNode.data.slice(position, start), chip);
    position = end;
  }
  if (pieces.length === 0) return;
  textNode.replaceWith(...pieces, textNode.data.slice(position));
}

/** A chip for what no report names (an answer has none): a name that turns out to mean nothing becomes text again. */
function chipToBe(name, typed, page) {
  const chip = createChip(typed, null, page);
  page.references.get(name).then((found) => {
    if (CONVERSATION.test(name) || isGiven(found)) chip.show(found);
    else chip.node.replaceWith(typed);
  }, () => {});
  return chip.node;
}

/**
 * Makes the references in a rendered block chips.
 *
 * @param {HTMLElement} node
 * @param {string} raw the block's source: what is a reference is decided there, as the server decides it
 * @param {{entries: object[], references: object}} page `entries` of the message's report, and what views share
 */
export function decorateReferences(node, raw, page) {
  if (!SIGNS.test(raw)) return;
  const meant = new Set(findReferences(raw).map(({ ref }) => bareReference(ref)));
  const entries = entriesByReference(page.entries);
  const chipFor = (name, typed) => {
    const entry = entries.get(name) ?? null;
    if (!meant.has(name) || (entry && isMuted(entry))) return null;
    if (entry) return createChip(typed, entry, page).node;
    // Whoever answers "we are #1" means no memory.
    const isMeant = CONVERSATION.test(name) || (typed.startsWith('@') && looksLikeKnowledge(name));
    return isMeant ? chipToBe(name, typed, page) : null;
  };
  textNodesOf(node).forEach((textNode) => replaceIn(textNode, chipFor));
}
