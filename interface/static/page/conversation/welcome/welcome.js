import { createWelcomeApi } from './api.js';
import { welcomeStrings } from '../../strings/en/welcome.js';
import { attempt } from '../../ui/attempts.js';

/**
 * Shows somebody new the welcome; whoever is not new stays where they are.
 *
 * @param {{api: object, events: object, sidebar: {refresh: () => Promise<void>}}} page
 */
export async function beginWelcome({ api, events, sidebar }) {
  history.replaceState(null, '', location.pathname);
  const told = await attempt(createWelcomeApi(api).welcome, { failed: welcomeStrings.failed });
  if (!told?.conversation_id) return;
  events.emit('conversation:open', { conversationId: told.conversation_id });
  await sidebar.refresh();
}
