import { reduceParts } from '../card/parts_model.js';

/**
 * One answer while it is being written: what its events add up to. Events that were seen before change nothing.
 */
export class AnswerState {
  constructor({ messageId = null } = {}) {
    this.messageId = messageId;
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
    const text = event.text ?? '';
    this.text += text;
    if (text !== '') this.#set('status', '', changed);
    if (event.status) this.#set('status', event.status, changed);
    for (const field of ['references', 'conversation', 'usage', 'error']) {
      if (event[field]) this.#set(field, event[field], changed);
    }
    if (event.document_references) this.#set('documents', event.document_references, changed);
    this.#set('parts', reduceParts(this.parts, event), changed);
    if (event.message_ids) this.#takeIds(event.message_ids, changed);
    if (event.done) {
      this.stored = event.answer_status ?? this.stored;
      this.#set('done', true, changed);
    }
    return { text, changed };
  }

  /** How the answer ended, in the words of a stored message's `status`; 'streaming' before that. */
  get outcome() {
    return this.done ? this.stored : 'streaming';
  }

  #set(field, value, changed) {
    if (this[field] === value) return;
    this[field] = value;
    changed.push(field);
  }

  #takeIds(ids, changed) {
    // The first ids come without hashes on a first turn: what is known already stays.
    const known = Object.entries(ids).filter(([, value]) => value !== null && value !== undefined);
    this.ids = { ...this.ids, ...Object.fromEntries(known) };
    this.messageId = this.ids.response_message_id ?? this.messageId;
    changed.push('ids');
  }
}
