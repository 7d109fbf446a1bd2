import { bring } from '../../core/api.js';
import { shellStrings } from '../../strings/en/shell.js';
import { attempt } from '../../ui/notices/attempts.js';

/**
 * Offers the messages that a conversation suggests, while it is open; what shows them is loaded with the first ones.
 *
 * @param {object} page what the parts of the conversation share
 * @param {HTMLElement} composer above which they stand
 * @param {(text: string) => void} write puts a text where messages are written
 */
export function offerSuggestedMessages({ api, events, conversationId: openId }, composer, write) {
  const failed = shellStrings.sidebar.actionFailed;
  let clear = () => {};

  async function suggest({ conversation_id: conversationId, conversation_settings: { suggestions }, messages }) {
    if (!suggestions?.length) return;
    const views = await bring(() => import('./suggested_messages.js'));
    clear = views.clearSuggestedMessages;
    const isOpen = () => openId() === conversationId;
    await views.showSuggestedMessages(suggestions, { api, events, composer, conversationId, messages, isOpen, onChoose: write });
  }

  events.on('conversation:shown', () => clear());
  events.on('conversation:loaded', (details) => attempt(() => suggest(details), { failed }));
}
