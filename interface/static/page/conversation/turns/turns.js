import { ApiError, errorText } from '../../core/api.js';
import { AnswerLostError, followAnswer } from './answer_stream.js';
import { proposesAlways } from '../../core/browser_storage/storage.js';
import { strings } from '../../strings/en/conversation.js';
import { AnswerState } from './answer_model.js';
import { asksToBeRemembered, isFromUser, isUnkept } from '../message_model.js';
import { attempt } from '../../ui/notices/attempts.js';
import { showToast } from '../../ui/notices/toast.js';

const words = strings.answer;
let sent = 0;

/**
 * The answers that are being written in the open conversation: sending, watching, stopping.
 *
 * `page` is what views share; beside it `transcript()`, `onConversation(changes)` for a new title or friendly id,
 * `onRunning(running)` when an answer begins or ends, `announce(text)` for those who listen.
 */
export class Turns {
  #page;
  #following = new Map();
  /** How many turns were asked for whose answer has not begun. */
  #asking = 0;
  #controller = new AbortController();

  constructor(page) {
    this.#page = page;
  }

  get running() {
    return this.#following.size > 0;
  }

  /** Whether this page shows a turn here itself: one that runs, or one that the server has not answered yet. */
  get isBusy() {
    return this.running || this.#asking > 0;
  }

  /** Whether what the server lists as new may be a turn that was sent from here, and is shown already under ids of its own. */
  get #awaitsIds() {
    return this.#asking > 0 || [...this.#following.values()].some(({ answer }) => answer.pending);
  }

  async #ask(request) {
    this.#asking += 1;
    try {
      return await request();
    } catch (error) {
      // It was no turn from here then.
      queueMicrotask(() => this.#page.watchUnfinished());
      throw error;
    } finally {
      this.#asking -= 1;
    }
  }

  /** Stops watching; the answers go on without us. */
  leave() {
    this.#controller.abort();
    this.#controller = new AbortController();
    this.#following.clear();
    this.#page.onRunning(false);
  }

  /**
   * Sends a message, and shows it and its answer where its conversation is shown. Resolves when the server has it; the answer
   * goes on by itself where the person has left.
   *
   * @param {string} conversationId
   * @param {object} message of the send route, with its `client_message_id`
   * @param {{insteadOf?: string|null, parts?: object[], signal?: AbortSignal}} [options] the id of the question in whose place it is asked:
   *   what followed that one leaves the page; the parts by which the message shows its files; what cuts the request off
   * @returns {Promise<boolean>} whether it is shown
   * @throws {ApiError} when it was not accepted
   */
  async send(conversationId, message, { insteadOf = null, parts = [], signal: cut } = {}) {
    const open = (options) => (insteadOf
      ? this.#page.api.askInstead(conversationId, insteadOf, { text: message.messageText, client_message_id: message.client_message_id }, options)
      : this.#page.api.sendMessage(conversationId, message, options));
    const isShown = () => this.#page.conversationId() === conversationId;
    const { signal } = this.#controller;
    const wasShown = isShown();
    const request = new AbortController();
    const response = await this.#ask(() => open({ signal: cut ? AbortSignal.any([request.signal, cut]) : request.signal }));
    const former = insteadOf && this.#page.find(insteadOf);
    if (!wasShown || signal.aborted || (insteadOf && !former)) {
      await response.body.cancel();
      // Whoever came here meanwhile may have come before the server had it.
      if (isShown()) await this.#page.refresh();
      return false;
    }
    const abort = () => request.abort();
    signal.addEventListener('abort', abort, { once: true });
    const transcript = this.#page.transcript();
    if (former) transcript.cutFrom(insteadOf);
    const [question, answer] = this.#drafted(message, parts, former?.message_index);
    transcript.push(question, answer);
    this.#restart({ answer });
    this.#follow({ answer, question, response, signal, reopen: open }).finally(() => signal.removeEventListener('abort', abort));
    return true;
  }

  /**
   * Has an answer made again, or lets it go on, and shows it in the place of the one before. Resolves when the server has
   * begun.
   *
   * @param {object} answer
   * @param {string} conversationId its own, which may not be the one that is shown
   * @param {'regenerate'|'continueAnswer'} how
   * @param {string} id of this wish: asked again with the same one, it is the same
   * @throws {ApiError} when it does not; then nothing has changed
   */
  async remake(answer, conversationId, how, id) {
    const { signal } = this.#controller;
    const response = await this.#ask(() => this.#page.api[how](conversationId, answer.message_id, id, { signal }));
    const message = this.#page.find(answer.message_id);
    if (!message) {
      await response.body.cancel();
      return;
    }
    this.#page.transcript().patch(message.message_id, { status: 'streaming', error: null });
    this.#restart({ answer: message });
    this.#follow({ answer: message, question: null, response, signal, again: true });
  }

  /** Has the answer of the conversation that is shown stopped. */
  stop() {
    const conversationId = this.#page.conversationId();
    return attempt(() => this.#page.api.cancelResponse(conversationId), { failed: strings.send.stopFailed });
  }

  /**
   * Goes on watching an answer that a tab before this one, or another one, began. While a turn that was sent from here has no
   * ids, its own answer may be among what is listed; the end of that turn looks again.
   */
  resume(message) {
    if (this.#awaitsIds || this.#following.has(message.message_id)) return;
    const before = this.#page.transcript().messages.findLast(({ message_index: index }) => index < message.message_index);
    // An answer that is made again may have been moved away from its question, of which all is known anyway.
    const again = (message.variants?.length ?? 0) > 0;
    const question = before && isFromUser(before) && !again ? before : null;
    this.#follow({ answer: message, question, response: null, signal: this.#controller.signal });
  }

  /** A card was made for a message: where its answer is being written, it takes that up. */
  adopt(card) {
    const turn = this.#following.get(card.message.message_id);
    if (!turn) return;
    card.beginStreaming(turn.state.text, turn.state.parts);
    card.showProgress(turn.state.status);
  }

  #drafted(payload, parts, index = this.#page.transcript().nextIndex) {
    sent += 1;
    const kept = !this.#page.conversation().stateless;
    const common = { pending: true, kept, created_at: new Date().toISOString(), references: [], backlink_count: 0 };
    return [
      { ...common, message_id: `unsent-${sent}-question`, sender: 'user', text: payload.messageText, parts, message_index: index, status: 'complete', reply_to_id: null },
      { ...common, message_id: `unsent-${sent}-answer`, sender: 'model', text: '', message_index: index + 1, status: 'streaming', config: { model: this.#page.answering() } },
    ];
  }

  async #follow({ answer, question, response, signal, reopen = null, again = false }) {
    const turn = { answer, question, again, state: new AnswerState({ messageId: answer.pending ? null : answer.message_id }) };
    this.#following.set(answer.message_id, turn);
    this.#page.onRunning(true);
    if (!response) this.#restart(turn);
    try {
      await followAnswer({
        watch: this.#page.api.watchStream,
        reopen,
        response,
        messageId: turn.state.messageId,
        onEvents: (events) => this.#show(turn, events),
        onBroken: () => this.#card(turn)?.showProgress(words.reconnecting),
        signal,
      });
    } catch (error) {
      if (signal.aborted) return;
      this.#noteLoss(turn, error);
    }
    if (!signal.aborted) await this.#end(turn);
  }

  #restart(turn) {
    const card = this.#card(turn);
    card?.beginStreaming();
    card?.showProgress(words.waiting);
  }

  #card(turn) {
    return this.#page.transcript().card(turn.answer.message_id);
  }

  #show(turn, events) {
    let text = '';
    const changed = new Set();
    for (const event of events) {
      if (turn.state.beginsNext(event)) {
        this.#draw(turn, { text, changed });
        this.#goOn(turn, event.answer);
        text = '';
        changed.clear();
      }
      const step = turn.state.apply(event);
      text += step.text;
      step.changed.forEach((field) => changed.add(field));
    }
    this.#draw(turn, { text, changed });
  }

  #draw(turn, { text, changed }) {
    if (changed.has('agent')) this.#page.transcript().patch(turn.answer.message_id, { agent: turn.state.agent });
    if (changed.has('ids')) this.#takeIds(turn);
    if (changed.has('references') && turn.question) {
      this.#page.transcript().patch(turn.question.message_id, { references: turn.state.references });
      this.#page.transcript().card(turn.question.message_id)?.redraw();
    }
    if (changed.has('conversation')) this.#page.onConversation(turn.state.conversation);
    if (changed.has('documents')) {
      this.#page.transcript().patch(turn.answer.message_id, { document_references: turn.state.documents });
    }
    const card = this.#card(turn);
    if (card) this.#grow(card, turn.state, { text, hasNewParts: changed.has('parts') });
  }

  /** The answer that was shown has ended, and the next one of the same turn begins, below it. */
  #goOn(turn, { message_id: messageId, short_id: shortId }) {
    const { state, answer, question } = turn;
    const transcript = this.#page.transcript();
    transcript.patch(answer.message_id, { text: state.text, parts: state.parts, status: 'complete', usage: state.usage });
    transcript.card(answer.message_id)?.endStreaming();
    this.#following.delete(answer.message_id);
    state.goOn(messageId);
    if (!transcript.find(messageId)) {
      transcript.push({
        message_id: messageId, short_id: shortId, sender: 'model', text: '', status: 'streaming', config: {}, references: [], backlink_count: 0,
        message_index: transcript.nextIndex, created_at: new Date().toISOString(), reply_to_id: question?.message_id ?? null,
      });
    }
    turn.answer = transcript.find(messageId);
    this.#following.set(messageId, turn);
    this.#restart(turn);
  }

  #grow(card, state, { text, hasNewParts }) {
    if (hasNewParts) card.showParts(state.parts);
    card.appendText(text);
    card.showProgress(state.status || (state.text ? '' : words.waiting));
  }

  #takeIds(turn) {
    const { ids } = turn.state;
    const transcript = this.#page.transcript();
    // Where the response to sending was lost, the stream of changes has brought the turn meanwhile.
    if (turn.answer.pending) transcript.drop(ids.response_message_id, ids.user_message_id);
    if (turn.answer.pending) this.#rename(turn, ids.response_message_id);
    const fields = (side) => {
      const named = ['message_index', 'message_short_hash', 'short_id'].map((field) => {
        const key = field.replace(/^message_/, '');
        return [field, ids[`${side}_message_${key}`] ?? ids[`${side}_${key}`]];
      });
      return Object.fromEntries(named.filter(([, value]) => value !== undefined));
    };
    const known = { pending: false, kept: ids.kept !== false };
    // Of several answers, `responses` says the ids of each; the others are those of the first.
    if (ids.responses) ids.responses.forEach((each) => transcript.patch(each.message_id, { ...each, ...known }));
    else if (ids.response_message_id === turn.answer.message_id) transcript.patch(turn.answer.message_id, { ...fields('response'), ...known });
    if (!turn.question) return;
    const { user_message_id: userId } = ids;
    transcript.patch(turn.question.message_id, { ...fields('user'), ...known, ...(userId ? { message_id: userId } : {}) });
    this.#page.events.emit('conversation:settled');
  }

  #rename(turn, messageId) {
    if (!messageId || messageId === turn.answer.message_id) return;
    const { message_id: before } = turn.answer;
    this.#page.transcript().patch(before, { message_id: messageId });
    turn.answer.message_id = messageId;
    this.#following.delete(before);
    this.#following.set(messageId, turn);
  }

  #noteLoss(turn, error) {
    // What broke is only our watching: the server knows how the answer ended.
    if (error instanceof AnswerLostError || error instanceof ApiError) return;
    console.error('The answer could not be shown', error);
  }

  async #end(turn) {
    const { state, answer } = turn;
    if (this.#following.get(answer.message_id) === turn) this.#following.delete(answer.message_id);
    const transcript = this.#page.transcript();
    if (state.done) {
      transcript.patch(answer.message_id, { text: state.text, parts: state.parts, status: state.outcome, usage: state.usage, error: errorText(state.error) ?? null });
    }
    transcript.card(answer.message_id)?.endStreaming();
    this.#page.onRunning(this.running);
    if (state.done) this.#page.announce(words.finished);
    else if (answer.pending) transcript.drop(answer.message_id, turn.question?.message_id);
    else if (isUnkept(answer)) transcript.patch(answer.message_id, { text: state.text, parts: state.parts, status: 'interrupted' });
    await this.#page.refresh();
    this.#tellOfFailedAttempt(turn);
    if (this.#isWorthRemembering(turn)) this.#propose(answer);
  }

  #isWorthRemembering({ question, answer, state }) {
    if (!question || state.outcome !== 'complete' || isUnkept(answer)) return false;
    return proposesAlways.get() || asksToBeRemembered(question);
  }

  /** The answer of before is back in its place, which doesn't say why. */
  #tellOfFailedAttempt({ again, state }) {
    if (again && state.error) showToast(strings.variants.regenerateFailed(errorText(state.error)), { kind: 'error' });
  }

  #propose({ message_id: messageId }) {
    const { conversationId } = this.#page.conversation();
    this.#page.events.emit('memory:propose', { conversation_id: conversationId, message_id: messageId });
  }
}
