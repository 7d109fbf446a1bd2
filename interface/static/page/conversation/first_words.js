/** Until a conversation has a title, lists call it by the first words of its question: several that were just begun are told apart. */

import { plainExcerpt } from '../markdown/plain_text_model.js';
import { findReferences } from '../references/grammar.js';
import { isFromUser } from './message_model.js';

const LENGTH = 60;

/** Lists show no ids: what a text names goes. */
const withoutReferences = (text) => findReferences(text).toReversed()
  .reduce((rest, { start, end }) => rest.slice(0, start) + rest.slice(end), text);

/**
 * @param {object[]} messages of the conversation, in order
 * @returns {string} without the marks of Markdown; '' where they don't begin with a question, or this has no words
 */
export function firstWords([first]) {
  return first && isFromUser(first) && (first.message_index ?? 1) === 1 ? plainExcerpt(withoutReferences(first.text ?? ''), LENGTH) : '';
}

/**
 * @param {object} parts
 * @param {import('../core/store.js').Store} parts.store
 * @param {object} parts.events of this side of the page
 * @param {() => string|null} parts.conversationId which conversation is open here
 * @param {() => object[]} parts.messages those of it that are shown
 */
export function tellFirstWords({ store, events, conversationId, messages }) {
  function tell() {
    const known = store.conversation(conversationId());
    if (!known || known.title || known.first_words) return;
    const words = firstWords(messages());
    if (words) store.changeConversation(conversationId(), { first_words: words });
  }

  store.subscribe(tell);
  events.on('messages:added', tell);
}
