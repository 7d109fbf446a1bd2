import { errorText } from '../../core/api.js';
import { strings } from '../../strings/en/conversation.js';
import { isCut, isEmptyAnswer, isFromUser, isUnkept, senderName, usageOf } from '../message_model.js';
import { createBacklinks } from '../../references/backlinks.js';
import { element, setHidden } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';
import { createEditing } from './editor.js';
import { createFold } from './content/long_message.js';
import { createCardHeader } from './header.js';
import { createMemoriesUsed } from './memories.js';
import { createReplyLine } from './reply.js';
import { createThreadCount } from '../threads/count.js';
import { createBranchSwitch, createVariantSwitch } from './variants.js';
import { MessageContent } from './content/content.js';
import { decorateReferences, renewMemoryChips, retitleChips } from '../../references/chips.js';
import { createDocumentChips } from '../../references/documents.js';
import { createReport } from '../../references/report.js';

/** As long as the animation of that name. */
const FLASH_MS = 1600;
const ENDINGS = new Set(['cancelled', 'interrupted']);

/** Whether nothing of an answer that was broken off stays. */
const keepsNothing = (message) => isUnkept(message) || message.text === '';

function endingOf(message) {
  if (isFromUser(message)) return '';
  if (message.status === 'failed') return message.error ?? errorText(message.config?.error) ?? strings.answer.failed;
  if (ENDINGS.has(message.status)) return (keepsNothing(message) ? strings.unkept : strings.answer)[message.status];
  return isEmptyAnswer(message) ? strings.answer.empty : '';
}

/** What an answer took: tokens, and how quickly it came. */
function createUsage(current) {
  const node = element('span', { class: 'message-usage', title: strings.usage.title, hidden: true });

  function update() {
    const usage = usageOf(current());
    setHidden(node, !usage);
    if (!usage) return;
    const speed = usage.perSecond === null ? [] : [strings.usage.speed(usage.perSecond)];
    const cost = usage.cost === null ? [] : [strings.usage.cost(usage.cost, usage.currency)];
    node.textContent = [strings.usage.tokens(usage.asked, usage.answered), ...speed, ...cost].join(' · ');
  }

  return { node, update };
}

/** Below an answer: have it made again, or let it go on where it was cut. */
function createRemake(current, page) {
  const offer = (name, symbol, label) => element('button', { type: 'button', class: 'message-offer', onclick: () => page.onAction(name, current()) },
    icon(symbol), element('span', { text: label }));
  const goOn = offer('continueAnswer', 'arrow-right', strings.answer.goOn);
  const node = element('span', { class: 'message-remake', hidden: true }, goOn, offer('regenerate', 'arrow-counterclockwise', strings.answer.again));

  function update() {
    const message = current();
    const isSettled = message.status !== 'streaming' && !message.pending && !message.isGone && !isUnkept(message);
    setHidden(node, isFromUser(message) || !isSettled);
    setHidden(goOn, !isCut(message));
  }

  return { node, update };
}

/**
 * One message in the page.
 *
 * `page` is what the views of a transcript share: `friendlyId()`, `references` (the cache), `goTo(target)`,
 * `find(messageId)`, `onSelect(message, selected)`, `onAction(name, message, detail)`, `api`, `conversationId()`, `edits` (what is
 * typed into messages).
 */
export class MessageCard {
  #header;
  #reply;
  #report;
  #documents;
  #memories;
  #backlinks;
  #threadCount;
  #versions;
  #hiddenNote;
  #content;
  #progress;
  #ending;
  #remake;
  #usage;
  #editing;
  /** What had the focus when it was asked to be edited: who comes from the box where messages are written goes back there. */
  #cameFrom = null;
  #fold;
  #streaming = false;
  #flashing = 0;

  constructor(message, page) {
    this.message = message;
    const current = () => this.message;
    this.#header = createCardHeader({ ...page, message: current });
    this.#reply = createReplyLine(page);
    const body = element('div', { class: 'message-content' });
    this.#fold = createFold(body);
    this.#progress = element('p', { class: 'message-progress', hidden: true });
    this.#ending = element('p', { class: 'message-ending', hidden: true });
    this.#remake = createRemake(current, page);
    this.#usage = createUsage(current);
    this.#report = createReport(page);
    this.#documents = createDocumentChips(page);
    this.#memories = createMemoriesUsed(page);
    this.#backlinks = createBacklinks(current, page);
    this.#threadCount = createThreadCount(() => this.message.message_id, page);
    // An answer stands for the question before it where that was deleted, and shows its alternatives.
    this.#versions = [createBranchSwitch(current, page), ...(isFromUser(message) ? [] : [createVariantSwitch(current, page)])];
    this.#hiddenNote = element('p', { class: 'message-hidden-note', hidden: true }, `${strings.hidden.note} `,
      element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: strings.hidden.show, onclick: () => page.onAction('show', current()) }));
    this.#content = new MessageContent(body, {
      typed: isFromUser(message),
      api: page.api,
      decorate: (node, raw) => decorateReferences(node, raw, { entries: this.message.references ?? [], ...page }),
    });
    this.#editing = createEditing(body, {
      message: current,
      edits: page.edits,
      save: (edit) => page.onAction('saveEdit', current(), edit),
      ask: ({ text }) => page.onAction('askInstead', current(), text),
      onClose: () => this.#afterEditing(page),
    });
    const foot = element('footer', { class: 'message-foot' }, this.#remake.node, ...this.#versions.map(({ node }) => node), this.#documents.node, this.#report.node, this.#memories.node, this.#usage.node, this.#threadCount.node, this.#backlinks.node);
    this.node = element('article', { class: `message-card from-${isFromUser(message) ? 'user' : 'assistant'}` },
      this.#header.node, this.#reply.node, this.#hiddenNote, body, this.#fold.button, this.#progress, this.#ending, foot);
    this.update(message);
    if (this.#editing.isKept() && message.status !== 'streaming') this.#editing.open({ takesFocus: false });
  }

  get isEditing() {
    return this.#editing.isOpen();
  }

  /** Shows what the message is now. An answer that is being written keeps what has been written. */
  update(message) {
    this.message = message;
    const { node } = this;
    node.setAttribute('message-id', message.message_id);
    node.setAttribute('message-index', message.message_index);
    const sender = senderName(message, strings.sender);
    node.setAttribute('aria-label', isUnkept(message) ? sender : `#${message.message_index} ${sender}`);
    node.dataset.status = message.status;
    node.dataset.shortId = message.short_id ?? '';
    node.setAttribute('aria-busy', String(message.status === 'streaming'));
    this.#header.update(message);
    this.#reply.update(message);
    // What an answer cites is no matter of what the model was given.
    this.#report.update(isFromUser(message) ? message.references ?? [] : []);
    this.#documents.update(message);
    this.#memories.update(message);
    this.#backlinks.update();
    this.#threadCount.update();
    this.#versions.forEach((version) => version.update());
    this.#remake.update();
    this.#usage.update();
    setHidden(this.#hiddenNote, message.show_hide !== 'hide');
    node.classList.toggle('hidden-from-model', message.show_hide === 'hide');
    node.classList.toggle('unkept', isUnkept(message));
    if (!this.#streaming) this.#showWhole(message);
    this.#showEnding();
    this.#editing.follow();
  }

  #showWhole({ text, parts }) {
    this.#content.show(text, parts ?? []);
    this.#fold.update(text);
  }

  /** A conversation has another title: chips that lead to it say so. */
  retitle(conversationId, title) {
    retitleChips(this.node, conversationId, title);
  }

  /** Memories have changed: chips that lead to them say so. @param {Set<string>} claimIds */
  renewMemories(claimIds) {
    renewMemoryChips(this.node, claimIds);
  }

  setSelected(selected) {
    this.node.classList.toggle('selected', selected);
    this.#header.setSelected(selected);
  }

  /** Its thread has got replies. */
  countReplies() {
    this.#threadCount.update();
  }

  /** Draws the text again: what is known of its references changed. */
  redraw() {
    if (!this.#streaming) this.#content.redraw();
  }

  /** Shows all of a long message. */
  unfold() {
    this.#fold.open();
  }

  /** The answer begins (again): its text comes piece by piece. */
  beginStreaming(text = '', parts = []) {
    this.#streaming = true;
    // Whoever saw it being written has it open.
    this.#fold.open();
    this.#content.begin(text, parts);
  }

  appendText(text) {
    this.#content.append(text);
  }

  /** What an answer that is being written has beside its text. */
  showParts(parts) {
    this.#content.showParts(parts);
  }

  /** @param {string} text what is going on, '' for nothing */
  showProgress(text) {
    setHidden(this.#progress, !text);
    this.#progress.textContent = text;
  }

  endStreaming() {
    this.#streaming = false;
    this.#content.finish();
    this.showProgress('');
    this.update(this.message);
  }

  /** Says how an answer ended, unless it just ended well. */
  #showEnding() {
    const text = endingOf(this.message);
    setHidden(this.#ending, !text);
    this.#ending.textContent = text;
    this.#ending.dataset.kind = this.message.status;
  }

  edit() {
    this.#cameFrom = document.activeElement;
    this.#editing.open({ takesFocus: true });
  }

  /** Saves what is typed by now, where that goes on. */
  saveEdit() {
    return this.#editing.submit();
  }

  stopEditing() {
    this.#editing.giveUp();
  }

  #afterEditing(page) {
    if (this.message.isGone) page.transcript().drop(this.message.message_id);
    else if (document.activeElement === document.body) {
      const isFromBox = this.#cameFrom?.matches('textarea') && this.#cameFrom.isConnected;
      (isFromBox ? this.#cameFrom : this.node.querySelector('.message-menu-button')).focus();
    }
  }

  /** What has the focus is where the keys go on. */
  takeFocus() {
    this.node.tabIndex = -1;
    this.node.focus({ preventScroll: true });
  }

  flash() {
    const { node } = this;
    node.classList.remove('flash');
    // Reading a size makes the browser notice that the class was away, so that the animation begins again.
    void node.offsetWidth;
    node.classList.add('flash');
    // By the clock: who wants no motion sees it lit, and no animation ends.
    clearTimeout(this.#flashing);
    this.#flashing = setTimeout(() => node.classList.remove('flash'), FLASH_MS);
  }

  close() {
    this.#content.close();
  }
}
