/**
 * The activities of a conversation that are no messages, each with the message that it stands behind.
 *
 * Of a conversation that has few of them all are known; of others, a run without gaps that ends where the shown messages end.
 */

/** So many are asked for at once. */
export const AT_ONCE = 200;

/** @typedef {{id: string, seq: number, after_message_id: string|null}} PlacedActivity as the server gives it */

/** Whether a message shows the activity among its parts, as a tool call. */
function isCallOf({ payload }, message) {
  const { message_id: answerId, part_id: partId, name } = payload ?? {};
  if (!message || message.message_id !== answerId) return false;
  return (message.parts ?? []).some((part) => part.kind === 'tool_call' && part.id === partId && part.name === name);
}

export class PlacedActivities {
  /** @type {PlacedActivity[]} in order */
  #known = [];
  #hasAll = false;
  #hasEarlier = false;

  /** Whether all activities of the conversation are known. */
  get hasAll() {
    return this.#hasAll;
  }

  /** Whether there are more before the first known one, between the messages that are shown. */
  get hasEarlier() {
    return this.#hasEarlier;
  }

  get known() {
    return this.#known;
  }

  get first() {
    return this.#known[0] ?? null;
  }

  get isEmpty() {
    return this.#known.length === 0;
  }

  clear() {
    this.#known = [];
    this.#hasAll = false;
    this.#hasEarlier = false;
  }

  /**
   * Takes the newest activities of a window of messages.
   *
   * @param {PlacedActivity[]} newest at most `AT_ONCE`, in order
   * @param {{isWhole: boolean}} options whether the window is the whole conversation
   */
  take(newest, { isWhole }) {
    const isFull = newest.length >= AT_ONCE;
    this.#hasAll = isWhole && !isFull;
    if (this.#hasAll) {
      this.#known = newest;
      this.#hasEarlier = false;
      return;
    }
    const from = newest[0]?.seq ?? Infinity;
    const earlier = this.#known.filter(({ seq }) => seq < from);
    // Without an overlap there may be others between what is known and what came.
    const touches = !isFull || this.#known.some(({ seq }) => seq >= from);
    this.#known = touches ? [...earlier, ...newest] : newest;
    if (isFull && !(touches && earlier.length > 0)) this.#hasEarlier = true;
    else if (!isFull) this.#hasEarlier = false;
  }

  /** Takes those right before the first known one. @param {PlacedActivity[]} earlier */
  takeEarlier(earlier) {
    const from = this.first?.seq ?? Infinity;
    this.#known = [...earlier.filter(({ seq }) => seq < from), ...this.#known];
    this.#hasEarlier = earlier.length >= AT_ONCE;
  }

  /**
   * The answer that shows an activity as one of its tool calls.
   *
   * @param {string} activityId
   * @param {{message_id: string, parts?: object[]}[]} messages that are shown
   * @returns {string|null} its id; null: no message shows it
   */
  callerOf(activityId, messages) {
    const activity = this.#known.find(({ id }) => id === activityId);
    return messages.find((message) => activity && isCallOf(activity, message))?.message_id ?? null;
  }

  /**
   * Which activities stand where among the messages that are shown. A tool call is shown once: in its answer.
   *
   * @param {{message_id: string}[]} messages
   * @param {{atStart: boolean}} options whether the conversation begins with them
   * @returns {Map<string|null, PlacedActivity[]>} by the id of the message that they stand behind; null: before all
   */
  among(messages, { atStart }) {
    const shown = new Map(messages.map((message) => [message.message_id, message]));
    const placed = new Map();
    for (const activity of this.#known) {
      const behind = activity.after_message_id;
      if (behind === null ? !atStart : !shown.has(behind)) continue;
      if (isCallOf(activity, shown.get(activity.payload?.message_id))) continue;
      if (!placed.has(behind)) placed.set(behind, []);
      placed.get(behind).push(activity);
    }
    return placed;
  }
}

/** @param {object} change as the server told it @returns {boolean} whether an activity left the conversation, or came from another one */
export function isMove({ kind, fields }) {
  return kind === 'activity' && Boolean(fields.moved_to || fields.moved_from);
}

/** @param {object} change as the server told it @returns {boolean} whether it is of an activity that is no message */
export function isOfNoMessage({ kind, fields }) {
  return kind === 'activity' && !(fields.recipe === 'general-discussion' && fields.type === 'chat_message');
}
