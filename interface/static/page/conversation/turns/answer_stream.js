import { mayPass } from '../../core/api.js';
import { ndjsonBatches } from '../../core/ndjson.js';

const FIRST_PAUSE_MS = 400;
const LONGEST_PAUSE_MS = 8000;

/** Thrown when the connection broke before the server had said which message the answer is. */
export class AnswerLostError extends Error {
  constructor() {
    super('The connection broke before the answer had an id.');
    this.name = 'AnswerLostError';
  }
}

/** Thrown when events could not be shown: they would not be handed over again. */
class NotShownError extends Error {
  constructor(cause) {
    super('Events of an answer could not be shown.', { cause });
    this.name = 'NotShownError';
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', giveUp);
      resolve();
    }, milliseconds);
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}

/**
 * Follows one answer to its end, across broken connections: what was seen is never handed over twice, nothing is left out.
 *
 * @param {object} options
 * @param {(messageId: string, after: number, options: {signal?: AbortSignal}) => Promise<Response>} options.watch
 * @param {((options: {signal?: AbortSignal}) => Promise<Response>)|null} [options.reopen] sends the message again, under its
 *   id: for when the connection broke before the answer had one
 * @param {Response|null} [options.response] the stream that sending opened; without it `messageId` is watched
 * @param {string|null} [options.messageId] id of the answer, when it is known already
 * @param {number} [options.after] number of the last event that was seen
 * @param {(events: any[]) => void} options.onEvents
 * @param {(attempt: number) => void} [options.onBroken] the connection broke and is tried again
 * @param {AbortSignal} [options.signal]
 * @param {(milliseconds: number, signal?: AbortSignal) => Promise<void>} [options.wait]
 * @returns {Promise<void>} resolves after the event `done`
 * @throws {ApiError} when the server refuses to continue; {AnswerLostError}; {NotShownError} when `onEvents` threw
 */
export async function followAnswer({
  watch, reopen = null, response = null, messageId = null, after = 0, onEvents, onBroken = () => {}, signal, wait = pause,
}) {
  const seen = { messageId, after, done: false };
  let attempt = 0;
  const onAlive = () => {
    attempt = 0;
  };
  const pass = { watch, reopen, seen, onEvents, onAlive, signal };
  let source = response;
  for (;;) {
    await followOnce(source, pass);
    if (seen.done) return;
    signal?.throwIfAborted();
    if (seen.messageId === null && !reopen) throw new AnswerLostError();
    source = null;
    attempt += 1;
    onBroken(attempt);
    await wait(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1)), signal);
  }
}

/** Reads one connection until the answer is done, or the connection breaks in a way that may pass. */
async function followOnce(source, { watch, reopen, seen, onEvents, onAlive, signal }) {
  const resume = () => (seen.messageId === null ? reopen({ signal }) : watch(seen.messageId, seen.after, { signal }));
  try {
    const { body } = source ?? (await resume());
    for await (const batch of ndjsonBatches(body)) {
      onAlive();
      deliver(batch, seen, onEvents);
      if (seen.done) return;
    }
  } catch (error) {
    if (signal?.aborted || error instanceof NotShownError || !mayPass(error)) throw error;
  }
}

function deliver(batch, seen, onEvents) {
  const fresh = batch.filter((event) => {
    if (typeof event.seq !== 'number') return false;
    if (event.seq <= seen.after) return false;
    seen.after = event.seq;
    return true;
  });
  for (const event of fresh) {
    seen.messageId = event.message_ids?.response_message_id ?? seen.messageId;
    seen.done ||= event.done === true;
  }
  if (fresh.length === 0) return;
  try {
    onEvents(fresh);
  } catch (error) {
    throw new NotShownError(error);
  }
}
