/** Imports of history: what can be done with one, how far it came, and how long it still takes. */

/** @typedef {{import_id: string, source: string, source_title: string, file_name: string, state: string, counted: boolean,
 *   conversations: number, messages: number, done: number, imported: number, updated: number, skipped: number, failed: number,
 *   error: string, next_try_at: string|null, messages_per_second: number|null, seconds_left: number|null}} Import `done`: of its messages
 *  @typedef {{item: string, item_said: object[], reason: string, said: object[]}} Failure
 *  @typedef {{titles: Array<{id: string, title: string, messages: number}>, failures: Failure[], failed: number, kept: Failure[], vectors_left: number|null,
 *   to_learn_from: string[]}} Details
 *   `titles`: of the first conversations of the file, to choose from; `kept`: what stays of an import that was taken back; `to_learn_from`:
 *   paths of documents that memories can be taken from */

/** What a file input accepts. */
export const ACCEPTED = '.zip,.json,.jsonl,.ndjson,.txt,.sqlite';

const WORKING = new Set(['counting', 'running', 'undoing']);
/** @type {Object<string, string[]>} what the person can do with an import, by its state */
const ACTIONS = {
  counting: ['start', 'cancel'],
  ready: ['start', 'cancel'],
  running: ['pause', 'stop'],
  paused: ['resume', 'stop'],
  done: ['report', 'undo', 'forget'],
  failed: ['report', 'undo', 'forget'],
  cancelled: ['undo', 'forget'],
  undoing: [],
  undone: ['report', 'forget'],
};
/** The states in which the details of an import say more than its line. */
const DETAILED = new Set(['ready', 'done', 'failed', 'undone']);

/** Whether the server works on it: it changes by itself. @param {Import} given */
export const isWorking = ({ state }) => WORKING.has(state);

/** Whether it has begun and not ended. @param {Import} given */
export const isUnderWay = (given) => isWorking(given) || given.state === 'paused';

/** Whether its details are wanted. @param {Import} given */
export const isDetailed = ({ state }) => DETAILED.has(state);

/** @param {Import} given @returns {string[]} the names of actions */
export function actionsOf({ state, imported, updated }) {
  return (ACTIONS[state] ?? []).filter((action) => action !== 'undo' || imported + updated > 0);
}

/** What the line of an import says: its state, or that it waits for its next try. @param {Import} given */
export const saysOf = (given) => (isWorking(given) && given.next_try_at ? 'waiting' : given.state);

/** How far an import came, from 0 to 1; null where nobody knows. @param {Import} given @returns {number|null} */
export function shareOf({ state, counted, messages, done }) {
  if (state !== 'running' && state !== 'paused') return null;
  return counted && messages > 0 ? Math.min(1, done / messages) : null;
}

/**
 * What is sent to start an import.
 *
 * @param {{workspaceId: string, all: string[], chosen: string[], mayChoose: boolean}} choice
 */
export function choiceOf({ workspaceId, all, chosen, mayChoose }) {
  const isAll = !mayChoose || chosen.length === all.length;
  return { ...(workspaceId ? { workspace_id: workspaceId } : {}), ...(isAll ? {} : { conversations: chosen }) };
}

/** The file that looks most like an export among those that were dropped; the first one, where none does. @param {File[]} files */
export function chosenOf(files) {
  const endings = ACCEPTED.split(',');
  return [...files].find(({ name }) => endings.some((ending) => name.toLowerCase().endsWith(ending))) ?? files[0] ?? null;
}
