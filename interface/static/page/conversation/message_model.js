/** What follows from a message's own fields: its name, its badge, its reference. */

import { agentName } from '../core/words/agent_name.js';

/**
 * @param {object} message
 * @returns {boolean}
 */
export function isFromUser(message) {
  return message.sender === 'user';
}

/**
 * @param {object} message
 * @returns {boolean} whether it is gone from the server when its turn has ended
 */
export function isUnkept({ kept, config }) {
  return kept === false || config?.kept === false;
}

/**
 * @param {object} message
 * @returns {boolean} whether it is a question that can be changed now, as its menu offers, too
 */
export function isChangeable(message) {
  return isFromUser(message) && !isUnkept(message) && !message.isGone && !message.pending && message.status !== 'streaming';
}

/**
 * @param {object} message
 * @returns {boolean} whether an answer stopped before its end, with something that can go on
 */
export function isCut({ text, status, config }) {
  if (!text) return false;
  return ['cancelled', 'interrupted', 'failed'].includes(status) || (status === 'complete' && config?.finish_reason === 'length');
}

const TO_BE_SEEN = new Set(['file', 'image']);

/**
 * @param {object} message
 * @returns {boolean} whether an answer ended without anything to read, see or decide: a picture alone is an answer
 */
export function isEmptyAnswer({ sender, status, text, parts = [] }) {
  if (sender === 'user' || status !== 'complete' || text !== '') return false;
  return !parts.some((part) => part.status === 'waiting' || TO_BE_SEEN.has(part.kind));
}

/**
 * @param {object} message
 * @param {{user: string, assistant: string}} names
 * @returns {string}
 */
export function senderName(message, names) {
  if (isFromUser(message)) return agentName(message.source_agent_title) || names.user;
  if (message.agent?.title) return agentName(message.agent.title);
  const model = message.model || message.config?.model_name || message.config?.model;
  // Where no model is configured the server calls it so.
  return model && model !== 'none' ? model : names.assistant;
}

/**
 * @param {{message_index: number, message_short_hash?: string|null}} message
 * @returns {string} `#5 · a3f2b1`, or `#5` while there is no hash
 */
export function badgeText({ message_index: index, message_short_hash: hash }) {
  return hash ? `#${index} · ${hash}` : `#${index}`;
}

/**
 * The reference that leads to a message from anywhere.
 *
 * @param {string} friendlyId
 * @param {{message_index: number, message_short_hash?: string|null}} message
 * @returns {string}
 */
export function messageReference(friendlyId, { message_index: index, message_short_hash: hash }) {
  return `@conversation_${friendlyId}_message_${hash || index}`;
}

/** What came all at once says nothing of the speed. */
const SHORTEST_S = 0.1;

/**
 * @param {object} message
 * @returns {{asked: number, answered: number, perSecond: number|null, cost: number|null, currency: string|null}|null} what an answer took; null where
 *   nobody counted. `cost` is null where the model has no price
 */
export function usageOf({ config, usage = config?.usage }) {
  if (!usage?.completion_tokens) return null;
  const { prompt_tokens: asked, completion_tokens: answered, seconds, cost = null, currency = null } = usage;
  return { asked: asked ?? 0, answered, perSecond: seconds >= SHORTEST_S ? answered / seconds : null, cost, currency };
}

const LINE_LENGTH = 100;

/** @param {string} text @returns {number} about how many lines it fills on a page */
export function linesOf(text) {
  return text.split('\n').reduce((lines, { length }) => lines + Math.max(1, Math.ceil(length / LINE_LENGTH)), 0);
}

/**
 * @param {object} message
 * @returns {Array<{claimId: string, friendlyId: string, source: string}>} the memories that the model had for this answer, most
 *   important first; none for an answer that never came
 */
export function memoriesUsed({ config, status, text }) {
  const memories = Array.isArray(config?.memories) && (text || status !== 'failed') ? config.memories : [];
  return memories.map(({ claim_id: claimId, friendly_id: friendlyId, source }) => ({ claimId, friendlyId, source }));
}

const REMEMBER = /^\s*(?:please,?\s+)?remember\s+(?:this|that)\b/i;

/**
 * @param {object} message
 * @returns {boolean} whether its sender asks to keep what it says: memories are proposed after the answer
 */
export function asksToBeRemembered(message) {
  return isFromUser(message) && REMEMBER.test(message.text ?? '');
}
