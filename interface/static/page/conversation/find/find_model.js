/** Where a text stands in a conversation, and in what is shown of it. */

/**
 * Where `wanted` stands in `text`, upper and lower case alike.
 *
 * @param {string} text
 * @param {string} wanted
 * @param {number} most
 * @returns {number[]} the beginnings, in order; occurrences don't overlap
 */
export function beginningsOf(text, wanted, most) {
  // Some letters have a lower case of another length: their places would be wrong.
  const lower = text.toLowerCase().length === text.length ? text.toLowerCase() : text;
  const sought = wanted.toLowerCase();
  const found = [];
  if (!sought) return found;
  for (let at = lower.indexOf(sought); at >= 0 && found.length < most; at = lower.indexOf(sought, at + sought.length)) found.push(at);
  return found;
}

/**
 * What the server found, with the messages that say a text only as they are shown: without the signs of Markdown, or by the title of a
 * reference.
 *
 * @param {{messages: Array<{message_id: string, message_index: number}>, total: number}} found the newest of all that hold it
 * @param {Array<{message_id: string, message_index: number}>} shown those on the page that say it
 * @returns {{messages: object[], total: number}} in order
 */
export function withShown({ messages, total }, shown) {
  const known = new Set(messages.map(({ message_id: id }) => id));
  // Before the first one that is known, the server has counted some that it did not name.
  const first = total > messages.length ? messages[0].message_index : 0;
  const more = shown.filter(({ message_id: id, message_index: index }) => !known.has(id) && index >= first);
  const all = [...messages, ...more].toSorted((one, other) => one.message_index - other.message_index);
  return { messages: all, total: total + more.length };
}

/**
 * The messages that hold a text; one of them is the current one.
 *
 * @param {Array<{message_id: string, message_index: number}>} messages in order
 * @param {number} total how many there are, where only the newest are known
 * @param {number} from the index of the message from which on the first is looked for
 */
export class Findings {
  #messages;
  #earlier;
  #at;

  constructor(messages, total, from) {
    this.#messages = messages;
    this.#earlier = total - messages.length;
    this.total = total;
    this.#at = Math.max(0, messages.findIndex(({ message_index: index }) => index >= from));
  }

  get current() {
    return this.#messages[this.#at] ?? null;
  }

  /** The number of the current one among all, from 1 on. */
  get place() {
    return this.current ? this.#earlier + this.#at + 1 : 0;
  }

  /** @param {1|-1} by the last one is followed by the first */
  step(by) {
    const { length } = this.#messages;
    if (length > 0) this.#at = (this.#at + by + length) % length;
  }
}
