/** How an activity reads: a message, or what a recipe says of any other. */

import { saidText } from '../core/words/said.js';
import { plainExcerpt } from '../markdown/plain_text_model.js';

/** The sentences of an event of the server, by their codes; null for what anybody else says. */
function sentencesOf({ type, actor, payload }) {
  const said = type === 'system_event' && actor?.type === 'system' ? payload?.said : null;
  return Array.isArray(said) && said.every((sentence) => sentence && typeof sentence === 'object') ? said : null;
}

/** @param {object} activity @returns {string} what it says, in words; '' where it says nothing so */
export function wordsOf(activity) {
  return saidText(activity.content ?? activity.words ?? '', sentencesOf(activity));
}

/**
 * @param {object} activity
 * @param {string} you how the person is called
 * @returns {string} its icon and label with who did it, or who says it
 */
export function headingOf({ heading, by, actor, is_message: isMessage }, you) {
  const isOwn = actor?.type === 'user';
  if (isMessage) return isOwn ? you : heading;
  return by ? `${heading} · ${isOwn ? you : by}` : heading;
}

/** @param {object} activity @param {number} length @returns {string} the beginning of what it says, without the marks of Markdown */
export function excerptOf(activity, length) {
  return plainExcerpt(wordsOf(activity), length);
}

/** @param {object} activity that is no message @returns {string} what it holds: its words, else its payload as JSON */
export function detailsOf(activity) {
  return activity.words ? wordsOf(activity) : JSON.stringify(activity.payload, null, 2);
}

/** @param {object} activity @returns {object} what the composer replies to */
export function replyTarget(activity) {
  const { id, short_id: shortId, actor, is_message: isMessage } = activity;
  return {
    message_id: id, short_id: shortId, sender: actor.type === 'user' ? 'user' : 'model', text: wordsOf(activity) || activity.heading, config: {},
    ...(isMessage ? {} : { name: activity.heading }),
  };
}

/** @param {object} activity @returns {object} where it stands */
export function placeOfActivity({ id, conversation_id: conversationId, is_message: isMessage }) {
  return { conversation_id: conversationId, ...(isMessage ? { message_id: id } : { activity_id: id }) };
}
