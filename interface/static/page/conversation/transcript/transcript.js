import { strings } from '../../strings/en/conversation.js';
import { isUnkept } from '../message_model.js';
import { TranscriptRequests } from './requests_model.js';
import { TranscriptWindow } from './window_model.js';
import { attempt } from '../../ui/notices/attempts.js';
import { element, setHidden } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';
import { MessageCard } from '../card/card.js';
import { showToast } from '../../ui/notices/toast.js';
import { createActivityLines } from './activities.js';
import { createCardList } from './card_list.js';
import { createScrollKeeper } from './scroll.js';

const PAGE = 50;
/** What a conversation opens with fills the view, and a little more; it is made up to a page once it is painted. */
const OPENING = 16;
const MOST_CARDS = 200;
const NEAR_PX = 1500;
/** So long messages that have come wait for the activities between them. */
const LINES_MS = 250;
const words = strings.transcript;

const IDLE_MS = 300;
/** Calls `job` when the browser has nothing better to do; where it can't tell, with the next frame. */
const whenIdle = (job) => (globalThis.requestIdleCallback ?? requestAnimationFrame)(() => job(), { timeout: IDLE_MS });

/** The messages that a conversation opens with. @param {string|number|null} around a message; null: the newest */
export const openingWindow = (around) => (around === null ? { limit: OPENING } : { around, limit: OPENING });

/** @param {Element|Range} shown @returns {number} the middle of its height in the window, in pixels */
function middleOf(shown) {
  const { top, bottom } = shown.getBoundingClientRect();
  return (top + bottom) / 2;
}

/**
 * The messages of the open conversation: a window of them, extended as the person scrolls, its cards kept in place.
 *
 * `page` is what its cards share, see `MessageCard`; `page.onCard(card)` is called with each card that is made.
 */
export class Transcript {
  #page;
  #window = new TranscriptWindow({ limit: MOST_CARDS });
  #list;
  #lines;
  /** Whether the messages of the open conversation have come, or it began here. */
  #isLoaded = false;
  #scroll;
  #notes = {};
  #toNewest;
  #container;
  #loading = null;
  /** The side whose messages could not be loaded, until somebody tries again. */
  #failed = null;
  #conversationId = null;
  #requests = new TranscriptRequests((query, options) => this.#ask(query, options));

  constructor({ container, page }) {
    this.#page = page;
    this.#container = container;
    const inner = element('div', { class: 'transcript' });
    const cards = element('div', { class: 'transcript-cards' });
    this.#notes.earlier = element('p', { class: 'transcript-note', role: 'status', hidden: true });
    this.#notes.later = element('p', { class: 'transcript-note', role: 'status', hidden: true });
    this.#notes.state = element('div', { class: 'transcript-state', hidden: true });
    inner.append(this.#notes.state, this.#notes.earlier, cards, this.#notes.later);
    this.#toNewest = element('button', {
      type: 'button', class: 'to-newest', title: words.toNewest, 'aria-label': words.toNewest, hidden: true, onclick: () => this.toNewest(),
    }, icon('arrow-down'));
    container.replaceChildren(inner, element('div', { class: 'to-newest-place' }, this.#toNewest));
    // What is written here is announced when it is complete, not letter by letter.
    container.setAttribute('aria-live', 'off');
    this.#list = createCardList(cards, (message) => {
      const card = new MessageCard(message, page);
      page.onCard(card);
      return card;
    });
    this.#lines = createActivityLines(page, {
      shown: () => this.#window, onChange: () => this.#isLoaded && this.#arrange(),
    });
    page.events.on('activities:shown', () => {
      this.#lines.refresh();
      this.#arrange();
    });
    this.#scroll = createScrollKeeper(container, inner, { onScroll: () => this.#onScroll(), hasEnd: () => this.messages.length > 0 });
    container.addEventListener('keydown', (event) => this.#onKey(event));
  }

  get messages() {
    return this.#window.messages;
  }

  get atEnd() {
    return this.#window.atEnd;
  }

  get atStart() {
    return this.#window.atStart;
  }

  get nextIndex() {
    return this.#window.nextIndex;
  }

  /** Whether nothing was said or done here yet. */
  get isEmpty() {
    return this.messages.length === 0 && this.#lines.isEmpty;
  }

  /** The threads of what is shown. */
  get threadIds() {
    return [...this.messages.map(({ thread_id: id }) => id).filter(Boolean), ...this.#lines.threadIds];
  }

  /** @returns {{isFirst: boolean, isLast: boolean}} whether a message stands at an edge of the conversation */
  edgesOf({ message_id: messageId, message_index: index }) {
    return { isFirst: index === 1, isLast: this.atEnd && messageId === this.#window.last?.message_id };
  }

  find(messageId) {
    return this.#window.find(messageId);
  }

  card(messageId) {
    return this.#list.get(messageId);
  }

  /** @param {Node[]} content what stands in the place of messages; none to take it away */
  showState(...content) {
    this.#notes.state.replaceChildren(...content);
    setHidden(this.#notes.state, content.length === 0);
    if (content.length > 0) this.#scroll.toStart();
  }

  /** Empties the transcript, and turns it to another conversation. */
  clear(conversationId) {
    this.#conversationId = conversationId;
    this.#requests.forget();
    this.#forgetLoading();
    this.#window.clear();
    this.#isLoaded = false;
    this.#lines.clear(conversationId);
    this.#list.show([]);
    this.showState();
    this.#tellEnds();
  }

  /**
   * Loads the newest messages, or those around one.
   *
   * @param {{around?: string|null, signal?: AbortSignal}} [options]
   * @returns {Promise<void>} when they are shown
   */
  load({ around = null, signal } = {}) {
    const lines = this.#isLoaded ? null : this.#lines.load({ signal });
    return this.#requests.replace(openingWindow(around), (messages) => this.#showLoaded(messages, around), { signal, beside: lines });
  }

  /** Asks for messages; where `beside` is soon done, they come together, so that nothing moves when it comes. */
  async #ask(query, { beside = null, ...options } = {}) {
    const messages = await this.#page.api.listMessages(this.#conversationId, query, options);
    if (beside) await Promise.race([beside, new Promise((resolve) => setTimeout(resolve, LINES_MS))]);
    return messages;
  }

  #showLoaded(messages, around) {
    this.#forgetLoading();
    // Fewer than asked for are all there are.
    this.#window.replace(messages, { atEnd: around === null || messages.length < OPENING });
    this.#isLoaded = true;
    this.#show();
    if (around === null) this.#scroll.toEnd();
    else this.#scroll.release();
    this.#tellEnds();
    this.#page.events.emit('messages:shown');
    // What is seen is painted first, the sidebar too.
    whenIdle(() => this.#fill());
  }

  /**
   * Loads what a conversation opens with: the newest messages, or those around one; where that one is gone, it says so.
   *
   * @param {string|null} messageId
   * @param {{signal: AbortSignal}} options
   */
  async open(messageId, options) {
    if (!messageId) return this.load(options);
    try {
      return await this.loadAround(messageId, options);
    } catch (error) {
      if (error.code !== 'message_not_found') throw error;
      showToast(words.messageGone);
      return this.load(options);
    }
  }

  /** Loads the messages around one. Where that lies in another branch, it is chosen. */
  async loadAround(messageId, options) {
    try {
      return await this.load({ around: messageId, ...options });
    } catch (error) {
      if (error.code !== 'message_not_found') throw error;
      await this.#page.api.chooseBranchWith(messageId);
      return this.load({ around: messageId, ...options });
    }
  }

  /** @param {{takesFocus?: boolean}} [options] @returns {boolean} whether the message is here, and now in view */
  reveal(messageId, { takesFocus = true } = {}) {
    if (!this.scrollTo(messageId)) return false;
    this.card(messageId).flash();
    if (takesFocus) this.card(messageId).takeFocus();
    return true;
  }

  /** Brings a message, or a part of its text, into view. @returns {boolean} whether the message is here */
  scrollTo(messageId, range = null) {
    const card = this.card(messageId);
    if (!card) return false;
    this.#scroll.release();
    (range?.startContainer.parentElement ?? card.node).scrollIntoView({ block: 'center' });
    // A paragraph may be much longer than the window.
    if (range) this.#container.scrollTop += middleOf(range) - middleOf(this.#container);
    return true;
  }

  /** The place in the conversation of the first message that is seen; 1 where there is none. */
  get firstSeenIndex() {
    const { top } = this.#container.getBoundingClientRect();
    const seen = this.messages.find(({ message_id: id }) => (this.card(id)?.node.getBoundingClientRect().bottom ?? 0) > top);
    return seen?.message_index ?? 1;
  }

  /** A conversation has another title: references to it say so. */
  retitle(conversationId, title) {
    for (const { message_id: messageId } of this.messages) this.card(messageId)?.retitle(conversationId, title);
  }

  /** Memories have changed: references to them say so. @param {Set<string>} claimIds */
  renewMemories(claimIds) {
    for (const { message_id: messageId } of this.messages) this.card(messageId)?.renewMemories(claimIds);
  }

  /** For when what had the focus has gone. */
  takeFocus() {
    if (document.activeElement === document.body) this.#container.focus({ preventScroll: true });
  }

  /** Shows the messages of the window. Where the card that had the focus goes, the transcript has it. */
  #show() {
    const hadFocus = this.#container.contains(document.activeElement);
    this.#list.show(this.messages, this.#lines.nodes());
    if (hadFocus) this.takeFocus();
    this.#lines.follow();
  }

  /** Shows what stands between the messages anew; what is read stays in its place. */
  #arrange() {
    this.#scroll.keepInPlace(() => this.#show(), this.#list.nodes());
    this.#page.onArranged();
  }

  /** Activities were posted here; where some are `moved`, they came from elsewhere or went. */
  followActivities(options) {
    this.#lines.refresh(options);
  }

  /** Threads have got replies: their roots say so. */
  countReplies() {
    this.#scroll.keepInPlace(() => {
      this.#list.cards().forEach((card) => card.countReplies());
      this.#lines.countReplies();
    }, this.#list.nodes());
  }

  /** @param {string} activityId of one that is no message @returns {boolean} whether it is here, and now in view */
  revealActivity(activityId, { takesFocus = true } = {}) {
    const caller = this.#lines.callerOf(activityId);
    return caller ? this.reveal(caller, { takesFocus }) : this.#lines.reveal(activityId, { takesFocus, before: () => this.#scroll.release() });
  }

  toNewest() {
    return attempt(async () => {
      if (!this.atEnd) await this.load();
      this.#scroll.toEnd();
      this.#tellEnds();
    }, { failed: words.failed, again: () => this.toNewest() });
  }

  #toFirst() {
    return attempt(async () => {
      if (!this.#window.atStart) await this.load({ around: 1 });
      this.#scroll.toStart();
    }, { failed: words.failed, again: () => this.#toFirst() });
  }

  /** Home and End mean the whole conversation, also where only a part of it is on the page. */
  #onKey(event) {
    const jump = { Home: () => this.#toFirst(), End: () => this.toNewest() }[event.key];
    if (!jump || event.defaultPrevented || event.ctrlKey || event.shiftKey || event.target.matches('input, textarea, select')) return;
    event.preventDefault();
    jump();
  }

  /** Puts messages at the end that were just written here. */
  push(...messages) {
    this.#isLoaded = true;
    this.#window.push(...messages);
    this.#show();
    this.#scroll.toEnd();
    this.#page.events.emit('messages:added');
  }

  /** Takes away a message and all behind it: others follow in their place. */
  cutFrom(messageId) {
    this.#window.cutFrom(messageId);
    this.#show();
    this.#lines.refresh();
  }

  drop(...messageIds) {
    this.#window.remove((message) => messageIds.includes(message.message_id));
    this.#show();
    this.#lines.refresh();
  }

  /** The fields of a message changed; `message_id` may be among them. */
  patch(messageId, changes) {
    const message = this.find(messageId);
    if (!message) return;
    Object.assign(message, changes);
    this.#list.rename(messageId, message.message_id);
    this.card(message.message_id)?.update(message);
    // What its parts show has no line of its own.
    if (messageId !== message.message_id || changes.parts) this.#show();
  }

  /**
   * Fetches again what is shown, and what came since: another tab, or a move, may have changed it.
   *
   * @returns {Promise<void>} when it is shown, by this fetching or by one that began later
   */
  refresh(options) {
    const first = this.#window.first?.message_index ?? 1;
    const limit = Math.max(PAGE, this.messages.length + (this.atEnd ? PAGE : 0));
    return this.#requests.refresh({ after: first - 1, limit }, (messages) => this.#renew(messages, { atEnd: messages.length < limit }), options);
  }

  #renew(messages, { atEnd }) {
    // A turn that was just sent has no ids here yet; the server lists it under those that it is going to tell.
    const unnumbered = this.messages.filter((message) => message.pending && !isUnkept(message));
    const sentFrom = unnumbered[0]?.message_index ?? Infinity;
    const shown = messages.filter(({ message_id: id, message_index: index }) => index < sentFrom || this.find(id));
    const stays = (message) => this.card(message.message_id)?.isEditing;
    this.#isLoaded = true;
    this.#scroll.keepInPlace(() => {
      this.#window.refresh(shown.slice(-MOST_CARDS), { atEnd, stays });
      this.#window.push(...unnumbered);
      this.#show();
    }, this.#list.nodes());
    this.#tellEnds();
    this.#lines.refresh();
  }

  /** Adds what was said since behind the messages that are shown, where those are the newest. */
  async loadNewer(options) {
    if (!this.atEnd) return;
    const after = this.#window.last?.message_index ?? 0;
    await this.#requests.add({ after, limit: PAGE }, (messages) => messages.length > 0 && this.#take('later', messages, PAGE), options);
  }

  #onScroll() {
    this.#tellEnds();
    this.#fill();
  }

  #fill() {
    const isShort = this.atEnd && this.messages.length < PAGE;
    if (!this.#window.atStart && (isShort || this.#scroll.distanceToStart() < NEAR_PX)) this.#extend('earlier');
    else if (!this.#window.atEnd && this.#scroll.distanceToEnd() < NEAR_PX) this.#extend('later');
  }

  async #extend(side) {
    if (this.#loading || this.#failed === side) return;
    const conversationId = this.#conversationId;
    const mine = {};
    this.#loading = mine;
    this.#note(side, words[side]);
    try {
      const query = side === 'earlier' ? { before: this.#window.first.message_index } : { after: this.#window.last.message_index };
      const limit = PAGE - (this.messages.length < PAGE ? this.messages.length : 0);
      const messages = await this.#page.api.listMessages(conversationId, { ...query, limit });
      if (this.#loading !== mine) return;
      this.#take(side, messages, limit);
      requestAnimationFrame(() => this.#fill());
    } catch {
      if (this.#loading === mine) this.#noteFailure(side);
    } finally {
      if (this.#loading === mine) this.#loading = null;
    }
  }

  /** @param {'earlier'|'later'} side of the messages @param {string} text '' for nothing to say */
  #note(side, text, ...controls) {
    const note = this.#notes[side];
    note.replaceChildren(text, ...controls);
    note.classList.toggle('failed', controls.length > 0);
    setHidden(note, !text);
  }

  /** Whoever reads on is not kept asking the server: they say when. */
  #noteFailure(side) {
    this.#failed = side;
    const again = () => {
      this.#failed = null;
      this.#extend(side);
    };
    this.#note(side, `${words.sideFailed[side]} `, element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: words.again, onclick: again }));
  }

  /** @param {number} limit how many were asked for */
  #take(side, messages, limit) {
    this.#scroll.keepInPlace(() => {
      this.#note(side, '');
      if (side === 'earlier') this.#window.addOlder(messages);
      else this.#window.addNewer(messages, { atEnd: messages.length < limit });
      this.#show();
    }, this.#list.nodes());
    this.#tellEnds();
    this.#page.events.emit('messages:shown');
  }

  /** What was being loaded belongs to what was shown before. */
  #forgetLoading() {
    this.#loading = null;
    this.#failed = null;
    for (const side of ['earlier', 'later']) this.#note(side, '');
  }

  #tellEnds() {
    const far = this.messages.length > 0 && (!this.atEnd || this.#scroll.distanceToEnd() > this.#container.clientHeight / 2);
    setHidden(this.#toNewest, !far);
  }
}
