import { parseAddress } from '../core/address.js';
import { newId } from '../core/ids.js';
import { filePartsOf, requestOf } from '../composer/outgoing.js';
import { strings } from '../strings/en/conversation.js';
import { shellStrings } from '../strings/en/shell.js';
import { createEditDrafts } from '../core/browser_storage/drafts.js';
import { createConversationReferences } from '../references/cache_model.js';
import { mountComposer } from '../composer/composer.js';
import { watchWriting } from '../ui/dom.js';
import { attempt } from '../ui/notices/attempts.js';
import { showToast } from '../ui/notices/toast.js';
import { Beginnings } from './beginnings.js';
import { createMessageActions } from './transcript/actions.js';
import { createSelection } from './transcript/selection.js';
import { Transcript } from './transcript/transcript.js';
import { createPins, emptyState, isGone, loadingFailure, withDetails } from './transcript/states.js';
import { findIn } from './find/find.js';
import { followMessages } from './following.js';
import { createGuide } from './guide.js';
import { createHeader } from './header.js';
import { followThreadCounts } from './threads/counts.js';
import { Turns } from './turns/turns.js';
import { offerSuggestedMessages } from './welcome/offer.js';

/** A message of the outbox that is nothing but its text. */
const ALONE = { beginning: null, isTemporary: false, files: [], attached: [], replyTo: null, fields: {} };

/**
 * What a conversation's place on the page is: the first, or the one beside it.
 *
 * @typedef {object} Slot
 * @property {boolean} isSecond
 * @property {(keep: 'push'|'replace'|'none', conversationId: string|null, messageId: string|null) => void} writeAddress names in the address what is open here
 * @property {(keep: 'push'|'replace', conversationId: string) => void} enter names a conversation that came into being here
 * @property {(conversationId: string|null) => void} tell puts into the store what is open here
 * @property {(title: string) => void} onTitle
 * @property {() => boolean} mayTakeFocus whether a conversation that has come may lead the person to its composer
 * @property {() => void} onEmpty called instead of beginning a new conversation, where that is begun elsewhere
 * @property {(target: object) => Promise<void>} goTo leads to a message, in whichever place its conversation is open
 */

/** A conversation that is open: its transcript, its composer, the answers being written. */
export class ConversationPage {
  #api;
  #page;
  #events;
  #store;
  #transcript;
  #turns;
  #composer;
  #actions;
  #selection;
  #threads;
  #guide;
  #pins;
  #slot;
  #header;
  #opening = null;
  /** Resolves when what is open is shown. */
  #loaded = Promise.resolve();
  #beginnings;
  #conversation = null;
  /** Names what is written until its conversation exists. */
  #beginning = null;
  #outbox;

  /**
   * @param {object} shared what the page's parts share; `kept`: what the browser keeps, `outbox`: the messages on their way
   * @param {{container: HTMLElement, composer: HTMLFormElement, header: HTMLElement, dropArea: EventTarget}} place its elements,
   *   and where files may be dropped for its next message
   * @param {Slot} slot
   */
  constructor({ api, store, events, bootstrap, kept, announce, outbox }, place, slot) {
    this.#slot = slot;
    this.#outbox = outbox;
    this.#beginnings = new Beginnings({ api, events, bootstrap, outbox }, {
      onCreated: (beginning, conversationId) => beginning === this.#beginning && this.#enter(conversationId, 'push'),
    });
    this.#api = api;
    this.#events = events;
    this.#store = store;
    const page = this.#shared(kept, announce, place);
    this.#page = page;
    this.#turns = new Turns(page);
    this.#header = createHeader(place.header, { store, onTitle: slot.onTitle });
    this.#transcript = new Transcript({ container: place.container, page });
    this.#guide = createGuide(page);
    this.#threads = followThreadCounts(page, { onChange: () => this.#transcript.countReplies() });
    this.#pins = createPins(place.container, page);
    this.#actions = createMessageActions(page);
    this.#selection = createSelection(place.composer, page, this.#actions);
    this.#composer = mountComposer(place.composer, {
      ...page, outbox, domain: bootstrap.domain, limits: bootstrap.limits, tracksDocuments: bootstrap.tracks_documents !== false,
    }, {
      place: () => this.#place(),
      onStop: () => this.#turns.stop(),
    });
    if (!slot.isSecond) offerSuggestedMessages(page, place.composer, (text) => this.#composer.add(text));
    this.#follow();
    followMessages({
      store,
      page,
      transcript: this.#transcript,
      turns: this.#turns,
      pins: this.#pins,
      loaded: () => this.#loaded,
      onNewer: () => this.#renew(() => this.#transcript.loadNewer({ quiet: true })),
    });
  }

  /** What the parts of the page share. */
  #shared(kept, announce, { container, dropArea }) {
    const page = {
      api: this.#api,
      events: this.#events,
      store: this.#store,
      kept,
      edits: createEditDrafts(kept),
      container,
      dropArea,
      announce,
      focusComposer: () => this.#composer.focus(),
      references: createConversationReferences(this.#api, () => this.#conversation?.conversationId ?? ''),
      conversation: () => this.#conversation ?? {},
      conversationId: () => this.#conversation?.conversationId ?? null,
      friendlyId: () => this.#conversation?.friendlyId ?? '',
      transcript: () => this.#transcript,
      find: (messageId) => this.#transcript.find(messageId),
      threadOf: (activityId) => this.#threads?.of(activityId) ?? null,
      onArranged: () => this.#onArranged(),
      light: (messageId, on) => this.#transcript.card(messageId)?.node.classList.toggle('lit', on),
      goTo: (target) => this.#slot.goTo(target),
      replyTo: (message) => this.#composer.replyTo(message),
      /** Lets a text be changed in the message's place again. */
      edit: (messageId, text) => {
        page.edits.set(messageId, text, this.#transcript.find(messageId).text);
        this.#transcript.card(messageId)?.edit();
      },
      ask: (message, also) => this.#outbox.add({ ...ALONE, ...message }, also),
      refresh: () => this.refresh(),
      reload: () => this.#reload(),
      look: () => this.#look({ quiet: true }),
      watchUnfinished: () => this.#watchUnfinished(),
      onAction: (name, message, detail) => this.#actions.act(name, message, detail),
      onSelect: (message, selected) => this.#selection.set(message, selected),
      turns: () => this.#turns,
      answering: () => this.#composer.answering(),
      onRunning: (running) => this.#tellRunning(running),
      onConversation: (changes) => this.#tellChanges(changes),
      onCard: (card) => {
        this.#turns.adopt(card);
        this.#selection.adopt(card);
      },
    };
    return page;
  }

  /** What the parts of this conversation share. */
  get parts() {
    return this.#page;
  }

  /** The id of the conversation that is open here; null: none, or one that is not made yet. */
  get conversationId() {
    return this.#page.conversationId();
  }

  /** Whether an answer is being written here. */
  get isAnswering() {
    return this.#turns.running;
  }

  /** Whether a message of the outbox was written for what is open here. */
  isPlaceOf({ conversationId, beginning }) {
    return conversationId === null ? beginning === this.#beginning || this.#beginnings.has(beginning) : conversationId === this.conversationId;
  }

  focus() {
    this.#composer.focus();
  }

  /** Nothing is open here any more; answers go on without this page. */
  leave() {
    this.#opening?.abort();
    this.#turns.leave();
    this.#selection.clear();
    this.#conversation = null;
    this.#transcript.clear(null);
    this.#pins.clear();
    this.#tellShown(null);
  }

  /** Opens what the address names. */
  openAddress() {
    const { conversationId, messageId } = parseAddress(location);
    if (conversationId !== null && conversationId === this.#conversation?.conversationId) return this.#guide.toMessage(messageId);
    return this.open(conversationId, { messageId, history: 'none' });
  }

  /**
   * @param {string|null} conversationId
   * @param {{messageId?: string|null, history?: 'push'|'replace'|'none'}} [options]
   */
  async open(conversationId, { messageId = null, history: keep = 'push' } = {}) {
    if (!conversationId && this.#slot.isSecond) {
      this.#slot.onEmpty();
      return;
    }
    this.#opening?.abort();
    const opening = new AbortController();
    this.#opening = opening;
    this.#slot.writeAddress(keep, conversationId, messageId);
    this.#turns.leave();
    this.#selection.clear();
    this.#turnTo(conversationId);
    this.#transcript.clear(conversationId);
    this.#pins.clear();
    this.#composer.open(conversationId);
    this.#header.show(this.#conversation);
    this.#tellShown(conversationId);
    if (!conversationId) {
      this.#transcript.showState(emptyState(this.#page));
      if (this.#slot.mayTakeFocus()) this.#composer.welcome();
      return;
    }
    try {
      this.#loaded = this.#load(messageId, opening.signal);
      await this.#loaded;
    } catch (error) {
      if (!opening.signal.aborted) this.#showFailure(error, () => this.open(conversationId, { messageId, history: 'none' }));
    }
  }

  #turnTo(conversationId) {
    // What was written on an empty page before a reload waits there.
    this.#beginning = conversationId ? null : (this.#outbox.unsettled ?? newId());
    this.#conversation = conversationId ? { conversationId, friendlyId: '', title: this.#store.conversation(conversationId)?.title || null } : null;
  }

  /** What is written where there is no conversation any more begins a new one. */
  #showFailure(error, onAgain) {
    if (isGone(error)) Object.assign(this.#conversation, { isGone: true, stateless: false });
    this.#header.show(this.#conversation);
    this.#transcript.showState(loadingFailure(error, { onAgain, onNew: () => this.open(null), events: this.#events, signal: this.#opening.signal }));
  }

  /** Turns to a conversation that is still being made: what is written meanwhile is written in it. */
  begin({ made, beginning, isTemporary }) {
    this.open(null);
    const opening = this.#opening;
    this.#beginning = beginning;
    this.#beginnings.add(beginning, made.then((conversationId) => {
      if (conversationId && this.#opening === opening) this.#enter(conversationId, 'replace');
      return conversationId;
    }), { isTemporary });
  }

  /** The conversation that is being written in exists from now on. */
  #enter(conversationId, keep) {
    this.#conversation = { conversationId, friendlyId: '', title: '' };
    this.#beginning = null;
    this.#transcript.clear(conversationId);
    this.#showWhetherEmpty();
    this.#composer.rename(conversationId);
    this.#slot.enter(keep, conversationId);
    this.#tellShown(conversationId);
  }

  #tellShown(conversationId) {
    this.#slot.tell(conversationId);
    this.#events.emit('conversation:shown', { conversationId });
  }

  async #load(messageId, signal) {
    const [{ conversationId }, writes] = [this.#conversation, watchWriting()];
    const [details] = await Promise.all([
      this.#store.loadConversation(() => this.#api.getConversationDetails(conversationId, { signal })),
      this.#transcript.open(messageId, { signal }),
    ]);
    if (signal.aborted) return;
    // What changed while the messages were on their way is newer than the answer.
    const current = { ...details, ...this.#store.conversation(conversationId) };
    this.#takeChanges(current);
    this.#events.emit('conversation:details', current);
    this.#events.emit('conversation:loaded', { ...current, messages: this.#transcript.messages });
    this.#pins.load();
    this.#showWhetherEmpty();
    // Who has begun to write somewhere before it was here goes on writing there.
    if (messageId) this.#transcript.reveal(messageId, { takesFocus: !writes() });
    else if (this.#slot.mayTakeFocus() && !writes()) this.#composer.welcome();
    this.#watchUnfinished();
  }

  /** @param {{conversation_id: string, message_id?: string}} target leads to a message, here or elsewhere */
  async goTo({ conversation_id: conversationId, message_id: messageId = null, activity_id: activityId = null }) {
    const [isActivity, writes] = [activityId !== null && messageId === null, watchWriting()];
    if (conversationId !== this.#conversation?.conversationId) await this.open(conversationId, { messageId });
    else if (!isActivity) {
      this.#slot.writeAddress('push', conversationId, messageId);
      await this.#guide.toMessage(messageId);
    }
    if (isActivity && conversationId === this.conversationId) await this.#guide.toActivity(activityId, { writes });
  }

  /** Shows what changed on the server meanwhile. */
  async refresh() {
    // The next look finds what this one missed.
    await this.#look({ quiet: true }).catch(() => {});
  }

  /** Shows what somebody changed here; where that fails, what is shown is said to be old. */
  async #reload() {
    const conversationId = this.#conversation?.conversationId;
    await attempt(() => this.#look(), {
      failed: strings.transcript.stale,
      again: () => conversationId === this.#conversation?.conversationId && this.#reload(),
    });
  }

  /** Shows everything anew: too much was changed elsewhere to be told one by one. */
  async #catchUp() {
    const { conversationId } = this;
    if (conversationId === null) return;
    const asked = this.#store.loadConversation(() => this.#api.getConversationDetails(conversationId, { quiet: true }));
    await Promise.all([asked.catch(() => {}), this.refresh()]);
  }

  async #look(options) {
    if (!this.#conversation || this.#conversation.isGone) return;
    await this.#renew(() => Promise.all([this.#transcript.refresh(options), this.#pins.refresh(options)]));
  }

  /** Asks for what is open here, and shows what became of it, unless something else is open by then, or it is gone. */
  async #renew(ask) {
    const opening = this.#opening;
    await ask();
    if (opening !== this.#opening || opening?.signal.aborted || this.#conversation?.isGone) return;
    this.#showWhetherEmpty();
    this.#watchUnfinished();
  }

  #takeChanges(details) {
    this.#conversation = withDetails(this.#conversation, details);
    this.#header.show(this.#conversation);
    this.#selection.renew();
  }

  #showWhetherEmpty() {
    this.#showState();
    this.#events.emit('conversation:settled');
  }

  #showState() {
    this.#transcript.showState(...(this.#transcript.isEmpty ? [emptyState(this.#page)] : []));
  }

  /** Activities came or went, or are hidden. */
  #onArranged() {
    if (this.#conversation && !this.#conversation.isGone && this.#transcript.messages.length === 0) this.#showState();
    this.#threads.look();
  }

  #watchUnfinished() {
    for (const message of this.#transcript.messages) {
      if (message.status === 'streaming' && !message.pending) this.#turns.resume(message);
    }
  }

  /** Where what is written now goes. */
  #place() {
    const conversationId = this.#conversation?.isGone ? null : (this.#conversation?.conversationId ?? null);
    this.#beginning = conversationId ? null : (this.#beginning ?? newId());
    return { conversationId, beginning: this.#beginning, isTemporary: this.#beginnings.isTemporary(this.#beginning) };
  }

  /** Brings a message of the outbox to the server; its answer is shown where its conversation is. */
  async deliver(entry, { signal }) {
    const conversationId = entry.conversationId ?? (await this.#beginnings.conversationOf(entry));
    const request = await requestOf(entry);
    const { insteadOf = null } = entry;
    const isHere = () => conversationId === this.#conversation?.conversationId && !insteadOf;
    if (isHere()) await this.#loaded.catch(() => {}); // what is still on its way would take the place of what is written
    if (isHere() && !this.#transcript.atEnd) await this.#transcript.load();
    try {
      if (await this.#turns.send(conversationId, request, { insteadOf, parts: await filePartsOf(entry), signal })) this.#transcript.showState();
    } catch (error) {
      await this.#tellNotSent(conversationId, error, { isFirst: !entry.problem });
    }
  }

  async #tellNotSent(conversationId, error, { isFirst }) {
    // It had been sent before, and its answer is not kept.
    if (error.code === 'stream_expired') {
      if (conversationId === this.conversationId) await this.refresh();
      return;
    }
    if (conversationId === this.#conversation?.conversationId) await this.#tellRefused(error);
    else if (isFirst) this.#tellDelayedElsewhere(conversationId, error);
    throw error;
  }

  async #tellRefused(error) {
    if (isGone(error)) this.#showFailure(error);
    // Of a request that was cut off, the server may have got the message.
    if (error.code === 'turn_in_progress' || error.name === 'AbortError') await this.refresh();
  }

  #tellDelayedElsewhere(conversationId, error) {
    if (error.code === 'turn_in_progress') return;
    showToast(strings.outbox.elsewhere(error.message), {
      kind: 'error', actionLabel: strings.outbox.goThere, onAction: () => this.#slot.goTo({ conversation_id: conversationId }),
    });
  }

  /** The open conversation has got a title and a name. */
  #tellChanges(changes) {
    this.#takeChanges(changes);
    this.#store.changeConversation(this.#conversation.conversationId, changes);
  }

  #tellRunning(running) {
    this.#composer?.setRunning(running);
    if (!running && this.#conversation) this.#outbox?.send(this.#conversation.conversationId);
  }

  #follow() {
    this.#events.on('composer:focus', () => this.#composer.focus());
    this.#events.on('find:open', () => this.#conversation && findIn(this.#page));
    this.#events.on('changes:lost', () => this.#catchUp());
    this.#store.subscribe(({ conversations }) => {
      this.#retitle(conversations);
      const { conversationId } = this;
      if (conversations.has(conversationId)) this.#followOpen(this.#store.conversation(conversationId));
    });
  }

  /** References in the transcript read as what they name is called. */
  #retitle(conversations) {
    for (const [conversationId, before] of conversations) {
      const title = this.#store.conversation(conversationId)?.title;
      if (title && title !== before?.title) this.#transcript.retitle(conversationId, title);
    }
  }

  /** What is known of the open conversation is different now; undefined: it is gone. */
  #followOpen(conversation) {
    if (conversation) {
      this.#takeChanges(conversation);
      return;
    }
    // A page that has found out already says so, and offers a new conversation.
    if (this.#conversation?.isGone) return;
    if (!this.#store.isRemoving(this.conversationId)) showToast(shellStrings.conversation.deletedElsewhere);
    this.open(null);
  }
}
