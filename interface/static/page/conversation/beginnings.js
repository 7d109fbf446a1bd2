import { newId } from '../core/ids.js';

/** Conversations on their way: each belongs to a beginning, which names what is written until it exists. */
export class Beginnings {
  #api;
  #events;
  #domain;
  #outbox;
  #onCreated;
  /** Promises of conversations that were asked for elsewhere, by their beginning. */
  #made = new Map();
  #temporary = new Set();

  /**
   * @param {object} page what the page's parts share
   * @param {{onCreated: (beginning: string, conversationId: string) => void}} options called when a conversation was made for a message
   */
  constructor({ api, events, bootstrap, outbox }, { onCreated }) {
    this.#api = api;
    this.#events = events;
    this.#domain = bootstrap.domain;
    this.#outbox = outbox;
    this.#onCreated = onCreated;
  }

  has(beginning) {
    return this.#made.has(beginning);
  }

  isTemporary(beginning) {
    return this.#temporary.has(beginning);
  }

  /** @param {Promise<string|null>} made null: none came of it */
  add(beginning, made, { isTemporary }) {
    if (isTemporary) this.#temporary.add(beginning);
    this.#made.set(beginning, made);
  }

  /** The conversation of what was written where there was none. @returns {Promise<string>} its id */
  async conversationOf({ beginning, isTemporary }) {
    const conversationId = (await this.#made.get(beginning)) ?? (await this.#create(beginning, { isTemporary }));
    await this.#outbox.settle(beginning, conversationId);
    return conversationId;
  }

  async #create(beginning, { isTemporary }) {
    const create = isTemporary ? this.#api.createTemporaryConversation : this.#api.createConversation;
    const createUnder = (clientId) => create(this.#domain, { clientId });
    const { conversation_id: conversationId } = await createUnder(beginning).catch((error) => {
      if (error.code !== 'conflict') throw error;
      return createUnder(newId()); // The one of this beginning was deleted since.
    });
    this.#events.emit('conversation:created', { conversationId });
    this.#onCreated(beginning, conversationId);
    return conversationId;
  }
}
