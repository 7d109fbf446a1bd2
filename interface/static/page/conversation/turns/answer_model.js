import { saidText } from '../../core/words/said.js';
import { reduceParts } from '../card/content/parts_model.js';

/**
 * One answer while it is being written: what its events add up to. Events that were seen before change nothing.
 *
 * Of a turn with several answers, each begins with an event `answer`, and its events have its `message_id`: those of other
 * answers change nothing here, until `goOn` turns to the next one.
 */
export class AnswerState {
  constructor({ messageId = null } = {}) {
    this.messageId = messageId;
    /** The id of the answer whose events count, and whether it has begun. */
    this.shown = messageId;
    this.hasBegun = false;
    this.agent = null;
    this.text = '';
    this.status = '';
    this.seq = 0;
    this.references = null;
    this.ids = {};
    this.conversation = null;
    this.usage = null;
    this.parts = [];
    this.documents = null;
    this.error = null;
    this.done = false;
    this.stored = 'complete';
  }

  /**
   * @param {object} event one event of the stream
   * @returns {{text: string, changed: string[]}} the text to append, and the names of the fields that changed
   */
  apply(event) {
    if (typeof event.seq !== 'number' || event.seq <= this.seq) return { text: '', changed: [] };
    this.seq = event.seq;
    const changed = [];
    if (!this.#isShown(event, changed)) return { text: '', changed };
    const text = event.text ?? '';
    this.text += text;
    if (text !== '') this.#set('status', '', changed);
    if (event.status) this.#set('status', saidText(event.status, event.said), changed);
    for (const field of ['references', 'conversation', 'usage', 'error']) {
      if (event[field]) this.#set(field, event[field], changed);
    }
    if (event.document_references) this.#set('documents', event.document_references, changed);
    this.#set('parts', reduceParts(this.parts, event), changed);
    if (event.message_ids) this.#takeIds(event.message_ids, changed);
    if (event.done) this.#takeEnd(event, changed);
    return { text, changed };
  }

  /** @param {object} event @returns {boolean} whether the answer that is shown has ended, and another one begins */
  beginsNext({ seq, answer }) {
    return this.hasBegun && seq > this.seq && Boolean(answer) && answer.message_id !== this.shown;
  }

  /** From now on the events of another answer of the same turn count. */
  goOn(messageId) {
    Object.assign(this, { shown: messageId, hasBegun: false, agent: null, text: '', status: '', usage: null, parts: [], error: null, documents: null });
  }

  /** How the answer ended, in the words of a stored message's `status`; 'streaming' before that. */
  get outcome() {
    return this.done ? this.stored : 'streaming';
  }

  #takeEnd({ answer_status: stored }, changed) {
    this.stored = stored ?? this.stored;
    this.#set('done', true, changed);
  }

  #set(field, value, changed) {
    if (this[field] === value) return;
    this[field] = value;
    changed.push(field);
  }

  /** Whether an event counts: it belongs to the answer that is shown, or to all of the turn. */
  #isShown({ answer, message_id: messageId }, changed) {
    if (answer) this.#takeAnswer(answer, changed);
    return !messageId || messageId === this.shown;
  }

  #takeAnswer({ message_id: messageId, agent }, changed) {
    this.shown ??= messageId;
    if (messageId !== this.shown) return;
    this.hasBegun = true;
    this.#set('agent', agent, changed);
  }

  #takeIds(ids, changed) {
    // The first ids come without hashes on a first turn: what is known already stays.
    const known = Object.entries(ids).filter(([, value]) => value !== null && value !== undefined);
    this.ids = { ...this.ids, ...Object.fromEntries(known) };
    this.messageId = this.ids.response_message_id ?? this.messageId;
    changed.push('ids');
  }
}
