import { strings } from '../lib/strings.js';

/** Shows what conversation is open, in the page and in the window's title. @param {{title?: string}|null} conversation */
export function showConversationTitle(conversation) {
  const heading = document.getElementById('conversation-title');
  const title = conversation ? conversation.title || strings.transcript.none : strings.transcript.none;
  heading.textContent = title;
  heading.title = title;
  document.title = conversation?.title ? `${conversation.title} · ${strings.product}` : strings.product;
}
