import { writePanel } from '../../core/address.js';
import { createWelcomeApi } from './api.js';
import { welcomeStrings } from '../../strings/en/welcome.js';
import { attempt } from '../../ui/notices/attempts.js';

/**
 * Makes the welcome conversation of a new account and opens it, unless the person has written a message of their own: that
 * message's conversation stays open.
 *
 * @param {{api: object, events: object, store: import('../../core/store.js').Store, kept: import('../../core/browser_storage/kept.js').Kept}} page
 */
export async function beginWelcome({ api, events, store, kept }) {
  writePanel('', { replace: true });
  const isWriting = () => store.openId !== null || kept.all('outbox').length > 0;
  const wasWriting = isWriting();
  const told = await attempt(createWelcomeApi(api).welcome, { failed: welcomeStrings.failed });
  if (told?.conversation_id && !wasWriting && !isWriting()) events.emit('conversation:open', { conversationId: told.conversation_id });
}
