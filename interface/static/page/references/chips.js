import { formatAddress } from '../core/address.js';
import { icon } from '../ui/icons.js';
import { inBrackets } from '../strings/en/count.js';
import { referenceStrings } from '../strings/en/references.js';
import { findReferences } from './grammar.js';
import { findWikilinks } from './wikilinks_model.js';
import { bareReference, documentTarget, entriesByReference, iconOf, isActivityName, isGiven, isMuted, memoriesTarget, labelOf, looksLikeMemory, permalinkOf } from './report_model.js';
import { element } from '../ui/dom.js';
import { attachReferenceCard, leadsSomewhere, openTarget, renewCard } from './card.js';

const CONVERSATION = /^conv(?:ersation)?_/;
const SIGNS = /[@#]|\[\[/;
const UNTOUCHED = 'code, pre, a, .math, .reference-chip';

function reasonOf(entry) {
  return referenceStrings.status[entry.status] ?? entry.status;
}

function isLost(entry) {
  return !isGiven(entry) && entry.status !== 'streaming';
}

/** The chips by their elements, so that those of a conversation take its new title. */
const chips = new WeakMap();

/** A chip that comes into view asks what its reference leads to now: titles and numbers change. */
const inView = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    inView.unobserve(target);
    chips.get(target)?.renew();
  }
});

/** Shows the new title of a conversation in all chips below `root` that lead to it. */
export function retitleChips(root, conversationId, title) {
  for (const node of root.querySelectorAll('.reference-chip')) chips.get(node)?.retitle(conversationId, title);
}

/** Memories have changed: all chips below `root` that lead to one of them say what it says now. @param {Set<string>} claimIds */
export function renewMemoryChips(root, claimIds) {
  for (const node of root.querySelectorAll('.reference-chip')) chips.get(node)?.renewMemory(claimIds);
}

/**
 * A reference as a chip: an icon by kind, and what a person would say for it, *Title › #5*. Its text stays the reference, so
 * that copying gives that. Where it leads nowhere, it is struck through with the reason.
 *
 * @param {string} typed as it stands in the text
 * @param {object|null} entry of the report, null while it is not known
 * @param {object} page
 * @param {{isTitled?: boolean}} [options] without a title it shows the reference: for lists that say beside it what it leads to
 */
export function createChip(typed, entry, page, { isTitled = true } = {}) {
  const name = bareReference(typed);
  const label = element('span', { class: 'reference-chip-label' });
  const text = element('span', { class: 'reference-chip-text', text: typed });
  const reason = element('span', { class: 'visually-hidden' });
  const chip = element('a', { class: 'reference-chip', tabindex: '0', 'data-reference': name }, icon(iconOf(entry)), label, text, reason);
  let known = entry;

  const card = attachReferenceCard(chip, async () => {
    if (!known) show(await page.references.get(name));
    else if (known.isFromMessage) await lookForDocument();
    return known;
  }, page);
  chip.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey) return;
    if (!leadsSomewhere(known)) {
      if (known && isLost(known)) card.offer();
      return;
    }
    event.preventDefault();
    const { conversation_id: conversationId, message_id: messageId } = known.target ?? {};
    if (event.altKey && conversationId) page.events.emit('conversation:beside', { conversationId, messageId });
    else openTarget(known, page);
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
    else if (permalinkOf(found)) chip.href = permalinkOf(found);
    else if (memoriesTarget(found) || documentTarget(found)) chip.setAttribute('role', 'button');
    chip.classList.toggle('unresolved', isLost(found));
    chip.title = isLost(found) ? reasonOf(found) : '';
    reason.textContent = isLost(found) ? inBrackets(reasonOf(found)) : '';
    showLabel(isTitled ? labelOf(found) : '');
  }

  function showLabel(words) {
    chip.classList.toggle('titled', words !== '');
    label.textContent = words;
    if (words) text.setAttribute('aria-hidden', 'true');
    else text.removeAttribute('aria-hidden');
  }

  /** A message keeps its documents, also those that are deleted later, and links that lead nowhere. */
  async function lookForDocument() {
    const { path } = known.target;
    const now = await page.references.get(path ? `[[${path}]]` : known.ref).catch(() => null);
    if (path && now?.status === 'not_found') show({ ...known, status: 'deleted', target: {} });
    else if (!path && now) show({ ...known, candidates: isGiven(now) ? [now] : now.candidates });
  }

  /** The report says what was so when the message was sent. */
  async function renew() {
    const now = await page.references.get(name).catch(() => null);
    if (now && isGiven(now) && chip.isConnected) show({ ...known, title: now.title, target: now.target });
  }

  function retitle(conversationId, title) {
    if (known?.target?.conversation_id === conversationId) show({ ...known, title });
  }

  async function renewMemory(claimIds) {
    if (!claimIds.has(known?.target?.claim_id)) return;
    const now = await page.references.get(name).catch(() => null);
    if (!now || !isGiven(now) || !chip.isConnected) return;
    show({ ...known, title: now.title, preview: now.preview });
    renewCard(chip, known, page);
  }

  /** What a message says now of its document; what was found for a link that leads nowhere stays. */
  function renewDocument(document) {
    const isBroken = !document.target.path && !known?.target?.path;
    const now = isBroken && known?.candidates ? { ...document, candidates: known.candidates } : document;
    if (JSON.stringify(now) === JSON.stringify(known)) return;
    show(now);
    renewCard(chip, known, page);
  }

  chips.set(chip, { renew, retitle, renewMemory });
  if (entry) show(entry);
  if (entry?.target?.conversation_id) inView.observe(chip);
  return { node: chip, show, renewDocument };
}

function textNodesOf(node) {
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT, (text) =>
    SIGNS.test(text.data) && !text.parentElement.closest(UNTOUCHED) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT);
  const found = [];
  while (walker.nextNode()) found.push(walker.currentNode);
  return found;
}

/** The references and the wikilinks of a text, in order. */
const named = (text) => [...findWikilinks(text), ...findReferences(text)].sort((one, other) => one.start - other.start);

/** A text in pieces, with what `insteadOf(name, typed)` gives in the place of its references; where that is nothing, they stay. */
function piecesOf(text, insteadOf) {
  const pieces = [];
  let position = 0;
  for (const { start, end, ref } of named(text)) {
    const instead = start < position ? null : insteadOf(bareReference(ref), text.slice(start, end));
    if (!instead) continue;
    pieces.push(text.slice(position, start), instead);
    position = end;
  }
  return [...pieces, text.slice(position)];
}

/** Puts chips in the place of the references in one text node. */
function replaceIn(textNode, chipFor) {
  const pieces = piecesOf(textNode.data, chipFor);
  if (pieces.length > 1) textNode.replaceWith(...pieces);
}

/**
 * A text with what its chips would read in the place of its references, for where none can stand: in a button.
 *
 * @param {string} text
 * @param {object[]} entries of its report; what leads nowhere stays as it was typed
 * @returns {string}
 */
export function withLabels(text, entries) {
  const known = entriesByReference(entries);
  return piecesOf(text, (name) => labelOf(known.get(name) ?? null)).join('');
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

/** What may be the short id of an activity, or a colour: text, and a chip once something of that id was found. */
function chipWhenFound(name, typed, page) {
  const text = element('span', { text: typed });
  page.references.get(name).then((found) => isGiven(found) && text.replaceWith(createChip(typed, found, page).node), () => {});
  return text;
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
  const meant = new Set(named(raw).map(({ ref }) => bareReference(ref)));
  const entries = entriesByReference(page.entries);
  const chipFor = (name, typed) => {
    const entry = entries.get(name) ?? null;
    if (!meant.has(name) || (entry && isMuted(entry))) return null;
    if (entry) return createChip(typed, entry, page).node;
    if (isActivityName(name)) return chipWhenFound(name, typed, page);
    // Whoever answers "we are #1" means no memory.
    const isMeant = typed.startsWith('[[') || CONVERSATION.test(name) || (typed.startsWith('@') && looksLikeMemory(name));
    return isMeant ? chipToBe(name, typed, page) : null;
  };
  textNodesOf(node).forEach((textNode) => replaceIn(textNode, chipFor));
}
