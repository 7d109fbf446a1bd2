import { strings } from '../strings/en/conversation.js';
import { referenceStrings } from '../strings/en/references.js';
import { agentName } from '../core/words/agent_name.js';
import { conversationTitle } from '../core/words/conversation_title.js';
import { shortTime } from '../core/words/times.js';
import { excerpt } from '../core/words/excerpt.js';
import { withoutHalves } from '../markdown/plain_text_model.js';
import { MarkdownView } from '../markdown/view.js';
import { joinedKinds } from './grammar.js';
import { bareReference, documentTarget, iconOf, isActivityName, memoriesTarget, notesOf } from './report_model.js';
import { attempt } from '../ui/notices/attempts.js';
import { icon } from '../ui/icons.js';
import { element } from '../ui/dom.js';
import { fillPopup, hidePopup, showBeside } from '../ui/controls/popup.js';

const OPEN_AFTER_MS = 200;
const CLOSE_AFTER_MS = 250;
/** Their previews are Markdown. */
const MARKDOWN = new Set(['message', 'message_range', 'conversation', 'document']);
const COUNTS_MEMORIES = new Set(['claim', 'context', 'entity', 'tag', 'domain']);
const words = referenceStrings;

let popup = null;
let anchor = null;
let timer = null;
/** Whether a chip gets the focus back that its card had: the card stays closed. */
let isGivingBack = false;
/** Whether the card that is shown says that its looking up failed. */
let isLost = false;

function close() {
  clearTimeout(timer);
  if (popup) hidePopup(popup);
  anchor?.removeAttribute('aria-describedby');
  anchor = null;
}

function dismiss() {
  const chip = popup?.contains(document.activeElement) ? anchor : null;
  close();
  isGivingBack = true;
  chip?.focus();
  isGivingBack = false;
}

/** The card stays beside its chip while that is in view. */
function showAt(chip) {
  showBeside(popup, chip, { onHidden: () => anchor === chip && close() });
}

function closeSoon() {
  clearTimeout(timer);
  timer = setTimeout(close, CLOSE_AFTER_MS);
}

/** A finger that was lifted has left nothing. */
function leave(event) {
  if (event.pointerType !== 'touch') closeSoon();
}

function thePopup() {
  if (popup) return popup;
  popup = element('div', { id: 'reference-card', class: 'popup-card reference-card', popover: 'manual', role: 'tooltip' });
  popup.addEventListener('pointerenter', () => clearTimeout(timer));
  popup.addEventListener('pointerleave', leave);
  popup.addEventListener('focusin', () => clearTimeout(timer));
  popup.addEventListener('focusout', closeSoon);
  addEventListener('keydown', (event) => event.key === 'Escape' && dismiss());
  // In a dialog, which hears of Escape too, the card goes first.
  addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !popup.matches('dialog :popover-open')) return;
    event.preventDefault();
    event.stopPropagation();
    dismiss();
  }, true);
  return popup;
}

/** What kind of thing it is; of joined groups, each kind once. */
function kindsOf({ kind, target }) {
  const kinds = target?.group ? new Set(joinedKinds(target.group)) : [kind];
  return [...kinds].map((each) => words.kind[each] ?? each).join(' & ');
}

/** What is known besides the title: who said it and when, place, number of things, size, remarks. */
function aboutOf(entry) {
  const { message_index: index, message_short_hash: hash, sender, created_at: saidAt } = entry.target ?? {};
  return [
    sender ? strings.sender[sender === 'user' ? 'user' : 'assistant'] : kindsOf(entry),
    saidAt ? shortTime(saidAt) : '',
    index ? `#${index}${hash ? ` · ${hash}` : ''}` : '',
    entry.count > 1 ? (COUNTS_MEMORIES.has(entry.kind) ? words.memories : words.many)(entry.count) : '',
    entry.chars ? words.details(entry.chars) : '',
    ...notesOf(entry),
  ].filter(Boolean).join(' · ');
}

/** The beginning of what a reference leads to, as it looks there. */
function previewOf({ kind, preview }) {
  if (!MARKDOWN.has(kind)) return element('p', { class: 'reference-card-preview', text: excerpt(preview) });
  const node = element('div', { class: 'reference-card-preview markdown' });
  new MarkdownView(node).setText(withoutHalves(preview));
  return node;
}

/**
 * What a reference leads to, as the inside of a card.
 *
 * @param {object} entry of a report
 * @param {{goTo: (target: object) => void, events: object, references: object, correct?: (ref: string, meant: string) => void}} page `correct`:
 *   the reference is being written, and can be replaced
 * @returns {Node[]}
 */
export function describeEntry(entry, page) {
  const heading = element('div', { class: 'reference-card-title' }, icon(iconOf(entry)),
    element('strong', { text: (entry.kind === 'agent' ? agentName(entry.title) : conversationTitle(entry.title)) || entry.ref }));
  const parts = [heading, element('p', { class: 'reference-card-about', text: aboutOf(entry) })];
  if (entry.preview) parts.push(previewOf(entry));
  parts.push(element('p', { class: `reference-card-status status-${entry.status}`, text: words.status[entry.status] ?? entry.status }));
  const candidates = (entry.candidates ?? []).filter(nameOf);
  if (candidates.length > 0) parts.push(element('div', { class: 'reference-card-candidates', role: 'group', 'aria-label': words.candidates },
    element('span', { class: 'reference-card-about', text: words.candidates }), ...candidates.map((candidate) => candidateButton(entry, candidate, page))));
  const label = memoriesTarget(entry) ? words.openMemories : words.open;
  const open = () => {
    close();
    openTarget(entry, page);
  };
  if (leadsSomewhere(entry)) parts.push(element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: label, onclick: open }));
  return parts;
}

/** What was perhaps meant: a click writes it in the place of the reference, or where that is not being written, opens it. */
function candidateButton(entry, candidate, page) {
  const name = nameOf(candidate);
  const choose = async () => {
    close();
    if (page.correct) {
      page.correct(entry.ref, name);
      return;
    }
    const meant = await attempt(() => page.references.get(bareReference(name)), { failed: words.candidateFailed });
    if (leadsSomewhere(meant)) openTarget(meant, page);
  };
  return element('button', { type: 'button', class: 'btn btn-sm btn-quiet', dir: 'auto', text: isActivityName(name) ? candidate.title : name, title: candidate.title || null, onclick: choose });
}

function nameOf(candidate) {
  const { friendly_id: friendlyId, ref } = candidate;
  return friendlyId ? `@${friendlyId}` : ref ?? candidate.title ?? candidate.name ?? '';
}

/** @returns {boolean} whether there is something to open */
export function leadsSomewhere(entry) {
  return Boolean(entry?.target?.conversation_id || memoriesTarget(entry) || documentTarget(entry));
}

/** Goes to the message or conversation that an entry leads to, or shows the memories or the document in their panel. */
export function openTarget(entry, { goTo, events }) {
  const [known, document] = [memoriesTarget(entry), documentTarget(entry)];
  if (known) events.emit('memories:open', known);
  else if (document) events.emit('documents:open', document);
  else goTo(entry.target);
}

/** What a chip leads to is different now: its card says so, if it is shown. The button that had the focus keeps it. */
export function renewCard(chip, entry, page) {
  if (anchor !== chip || !popup?.matches(':popover-open')) return;
  const focused = [...popup.querySelectorAll('button')].indexOf(document.activeElement);
  popup.replaceChildren(element('div', {}, ...describeEntry(entry, page)));
  if (focused >= 0) popup.querySelectorAll('button')[focused]?.focus();
}

async function open(chip, lookUp, page) {
  clearTimeout(timer);
  const card = thePopup();
  const content = element('div', {}, element('p', { class: 'popup-note', text: words.looking }));
  anchor = chip;
  isLost = false;
  card.replaceChildren(content);
  showAt(chip);
  chip.setAttribute('aria-describedby', card.id);
  const found = await fillPopup(content, lookUp, { show: (entry) => describeEntry(entry, page), failed: words.lookupFailed });
  if (anchor !== chip) return;
  isLost = !found;
  if (chip.isConnected) showAt(chip);
  else close();
}

/**
 * Shows a card when the chip is pointed at for a moment, is touched for the first time, or has the focus. A click on what could not
 * be looked up tries again. To be called before the chip listens to clicks itself.
 *
 * @param {HTMLElement} chip
 * @param {() => Promise<object>} lookUp gives the entry
 * @param {object} page
 * @returns {{offer: () => Promise<void>}} `offer` shows the card, with the focus on the first thing that was perhaps meant
 */
export function attachReferenceCard(chip, lookUp, page) {
  chip.addEventListener('pointerenter', (event) => {
    if (event.pointerType === 'touch') return;
    clearTimeout(timer);
    if (anchor !== chip) timer = setTimeout(() => open(chip, lookUp, page), OPEN_AFTER_MS);
  });
  chip.addEventListener('pointerleave', leave);
  chip.addEventListener('focus', () => !isGivingBack && chip.matches(':focus-visible') && open(chip, lookUp, page));
  chip.addEventListener('blur', closeSoon);
  chip.addEventListener('click', (event) => {
    const isFirstTouch = event.pointerType === 'touch' && anchor !== chip;
    if (!isFirstTouch && !(anchor === chip && isLost)) {
      close();
      return;
    }
    event.preventDefault();
    event.stopImmediatePropagation();
    open(chip, lookUp, page);
  });

  return {
    async offer() {
      await open(chip, lookUp, page);
      if (anchor === chip) popup.querySelector('.reference-card-candidates button')?.focus();
    },
  };
}
