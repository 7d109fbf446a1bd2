/**
 * Asks the server for the messages of a transcript. Answers come late and out of order: one is handed on only while it still
 * fits what is shown.
 */
export class TranscriptRequests {
  #ask;
  /** Counts what took the place of what was shown: an answer to what was asked before is out of date. */
  #generation = 0;
  /** The newest request for what is shown: its answer alone counts. */
  #refreshing = null;

  /** @param {(query: object, options?: object) => Promise<object[]>} ask */
  constructor(ask) {
    this.#ask = ask;
  }

  /** Something else is shown: what was asked before is out of date. */
  forget() {
    this.#generation += 1;
  }

  /**
   * Asks for messages that are shown in the place of those that are. While they are awaited, and where they came, nothing that
   * was asked before is shown any more.
   *
   * @param {object} query
   * @param {(messages: object[]) => void} show not called where something else was asked for since
   * @param {object} [options]
   */
  async replace(query, show, options) {
    this.forget();
    await this.#askFor(query, (messages) => {
      this.forget();
      show(messages);
    }, options);
  }

  /**
   * Asks for messages beside those that are shown.
   *
   * @param {object} query
   * @param {(messages: object[]) => void} show not called where other messages are shown by then
   * @param {object} [options]
   */
  add(query, show, options) {
    return this.#askFor(query, show, options);
  }

  /**
   * Asks again for what is shown.
   *
   * @param {object} query
   * @param {(messages: object[]) => void} show not called where other messages are shown by then, or a later request will be answered
   * @param {object} [options]
   * @returns {Promise<void>} when they are shown, by this request or by one that began later
   */
  async refresh(query, show, options) {
    const mine = {};
    this.#refreshing = mine;
    mine.done = this.#askFor(query, (messages) => this.#refreshing === mine && show(messages), options);
    let newest;
    do {
      newest = this.#refreshing;
      await newest.done;
    } while (this.#refreshing !== newest);
  }

  async #askFor(query, show, options) {
    const generation = this.#generation;
    const messages = await this.#ask(query, options);
    if (generation === this.#generation) show(messages);
  }
}
