/** The conversations on the page: one, and where the window is wide a second one beside it. */

import { besideInAddress, enterAddress, followAddress, parseAddress, swapAddress, writeAddress, writeBeside } from '../core/address.js';
import { mayPass } from '../core/api.js';
import { createOwnEvents } from '../core/events.js';
import { Outbox } from '../composer/outbox_model.js';
import { strings } from '../strings/en/conversation.js';
import { wide } from '../ui/columns.js';
import { setPageTitle } from '../ui/notices/page_title.js';
import { ConversationPage } from './page.js';
import { createRailToggle } from './rail/toggle.js';
import { showToast } from '../ui/notices/toast.js';

const BESIDE = 'conversation';
/** What the page asks of the conversation in which the person works. */
const ROUTED = ['find:open', 'command:run', 'composer:focus', 'claim:use-now'];
const OWN_OF_BOTH = [...ROUTED, 'memory:propose', 'message:written', 'messages:shown', 'messages:added'];
const OWN_OF_SECOND = [...OWN_OF_BOTH, ...['open', 'shown', 'details', 'loaded', 'settled'].map((name) => `conversation:${name}`)];
const root = document.documentElement;

export class Sides {
  #page;
  #outbox;
  #first;
  #firstEvents;
  #second = null;
  #makePlace;
  #secondEvents;
  #secondRoot;
  #isSecondActive = false;
  /** What has the place beside the first conversation, where that is something else. */
  #takenBy = null;

  /**
   * @param {object} page what the page's parts share
   * @param {object} place of the first conversation, see `ConversationPage`, with `rail` and `railToggle`
   * @param {() => object} makeSecondPlace makes the place of the second one, with `root`, which holds it, and `find`, `swap` and `close`, its buttons
   */
  constructor(page, { rail, railToggle, ...place }, makeSecondPlace) {
    this.#page = page;
    this.#makePlace = makeSecondPlace;
    this.#outbox = new Outbox({
      kept: page.kept, mayPass, deliver: (entry, options) => this.#placeOf(entry).deliver(entry, options),
      isAnswering: (conversationId) => this.#sides.some((side) => side.isAnswering && side.conversationId === conversationId),
    });
    page.events.on('beside:taken', ({ by }) => this.#yieldTo(by));
    page.events.on('beside:left', ({ by }) => this.#takeBack(by));
    this.#firstEvents = createOwnEvents(page.events, new Set(OWN_OF_BOTH));
    this.#first = new ConversationPage({ ...page, events: this.#firstEvents, outbox: this.#outbox }, place, {
      isSecond: false, writeAddress, enter: enterAddress, tell: (conversationId) => page.store.open(conversationId), onTitle: setPageTitle,
      mayTakeFocus: () => !this.#isSecondActive, onEmpty: () => {}, goTo: (target) => this.#goTo(target, this.#first),
    });
    createRailToggle(railToggle, rail, this.#first.parts);
    this.#follow(page.events);
  }

  get #sides() {
    return this.#second ? [this.#second, this.#first] : [this.#first];
  }

  get #isShown() {
    return root.dataset.beside === BESIDE;
  }

  /** Opens what the address names, and sends what was written before and did not arrive. */
  async start() {
    await Promise.all([this.#first.openAddress(), this.#showBeside()]);
    await this.#outbox.sendAll();
  }

  /** Opens everything anew. */
  reopen() {
    for (const side of this.#sides) if (side.conversationId) side.open(side.conversationId, { history: 'none' });
  }

  #placeOf(entry) {
    return this.#sides.find((side) => side.isPlaceOf(entry)) ?? this.#first;
  }

  #follow(events) {
    for (const name of ROUTED) events.on(name, (detail) => (this.#isSecondActive ? this.#secondEvents : this.#firstEvents).emit(name, detail));
    events.on('conversation:open', ({ conversationId, messageId = null }) => this.#open(conversationId, messageId));
    events.on('conversation:begun', (begun) => this.#first.begin(begun));
    events.on('conversation:beside', ({ conversationId, messageId = null }) => this.#openBeside(conversationId, messageId));
    events.on('beside:swap', () => this.#swap());
    events.on('beside:close', () => this.#close());
    events.on('beside:turn', () => this.#isShown && this.#activate(!this.#isSecondActive));
    addEventListener('online', () => this.#outbox.sendAll());
    document.addEventListener('visibilitychange', () => !document.hidden && this.#outbox.sendAll());
    wide.addEventListener('change', () => this.#showBeside());
    document.addEventListener('focusin', ({ target }) => this.#noteFocus(target));
    followAddress(({ isPanelAlone, isBesideAlone }) => {
      if (isPanelAlone) return;
      if (!isBesideAlone) this.#first.openAddress();
      this.#showBeside();
    });
  }

  /** A conversation that is on the page already is led to where it is. */
  #open(conversationId, messageId) {
    if (conversationId !== null && this.#second?.conversationId === conversationId) {
      this.#second.focus();
      if (messageId) this.#second.goTo({ conversation_id: conversationId, message_id: messageId });
      return;
    }
    this.#first.open(conversationId, { messageId });
  }

  /** Leads to a message where its conversation is open, else in the place of `from`. */
  #goTo(target, from) {
    const side = this.#sides.find(({ conversationId }) => conversationId === target.conversation_id) ?? from;
    return side.goTo(target);
  }

  /** Shows a conversation beside the first one; where there is no room, in its place. */
  #openBeside(conversationId, messageId) {
    if (!wide.matches) {
      this.#first.open(conversationId, { messageId });
      return;
    }
    if (this.#page.store.isShown(conversationId)) {
      if (messageId) this.#goTo({ conversation_id: conversationId, message_id: messageId }, this.#first);
      else showToast(strings.beside.isOpen);
      return;
    }
    this.#takenBy = null;
    writeBeside('push', conversationId);
    this.#showBeside(messageId);
    this.#page.events.emit('beside:shown');
    this.#activate(true);
  }

  /** Shows the second conversation that the address names, or none. */
  async #showBeside(messageId = null) {
    const conversationId = besideInAddress();
    const isWanted = conversationId !== null && wide.matches && this.#takenBy === null && conversationId !== parseAddress(location).conversationId;
    if (!isWanted) {
      this.#hide();
      return;
    }
    this.#second ??= this.#makeSecond();
    if (!this.#isShown) {
      root.dataset.beside = BESIDE;
      this.#page.events.emit('beside:taken', { by: BESIDE });
    }
    if (this.#second.conversationId !== conversationId) await this.#second.open(conversationId, { messageId, history: 'none' });
  }

  #makeSecond() {
    const { store, events } = this.#page;
    const place = this.#makePlace();
    this.#secondRoot = place.root;
    this.#secondEvents = createOwnEvents(events, new Set(OWN_OF_SECOND));
    const second = new ConversationPage({ ...this.#page, events: this.#secondEvents, outbox: this.#outbox }, place, {
      isSecond: true, writeAddress: (keep, conversationId) => writeBeside(keep, conversationId), enter: writeBeside,
      tell: (conversationId) => store.openBeside(conversationId), onTitle: () => {},
      mayTakeFocus: () => false, onEmpty: () => this.#close(),
      goTo: (target) => this.#goTo(target, second),
    });
    this.#secondEvents.on('conversation:open', ({ conversationId, messageId = null }) => second.open(conversationId, { messageId }));
    place.find.addEventListener('click', () => this.#secondEvents.emit('find:open'));
    place.swap.addEventListener('click', () => this.#swap());
    place.close.addEventListener('click', () => this.#close());
    return second;
  }

  #hide() {
    if (!this.#isShown && !this.#second?.conversationId) return;
    const hadFocus = this.#isSecondActive;
    if (this.#isShown) delete root.dataset.beside;
    this.#second.leave();
    this.#note(false);
    if (hadFocus) this.#first.focus();
  }

  #close() {
    if (besideInAddress() === null) return;
    const wasShown = this.#isShown;
    writeBeside('push', null);
    this.#hide();
    if (wasShown) this.#page.events.emit('beside:left', { by: BESIDE });
  }

  /** The two conversations change places. */
  #swap() {
    if (!this.#isShown || !this.#first.conversationId) return;
    const [left, right] = [this.#first.conversationId, this.#second.conversationId];
    swapAddress();
    this.#page.store.update(() => {
      this.#second.open(left, { history: 'none' });
      this.#first.open(right, { history: 'none' });
    });
  }

  /** Something else takes the place beside the first conversation; the address still names the second one. */
  #yieldTo(by) {
    if (by === BESIDE) return;
    this.#takenBy = by;
    this.#hide();
  }

  #takeBack(by) {
    if (by === BESIDE || (by && by !== this.#takenBy)) return;
    this.#takenBy = null;
    this.#showBeside();
  }

  #activate(isSecond) {
    this.#note(isSecond);
    (isSecond ? this.#second : this.#first).focus();
  }

  /** Dialogs and toasts speak of the side in which the person worked before. */
  #noteFocus(target) {
    if (this.#isShown && !target.closest('dialog, #toasts')) this.#note(this.#secondRoot.contains(target));
  }

  #note(isSecond) {
    this.#isSecondActive = isSecond;
    this.#page.store.activate(isSecond);
  }
}
