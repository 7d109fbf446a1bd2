import { parseAddress } from '../core/address.js';
import { showsActivities } from '../core/browser_storage/storage.js';
import { AT_ONCE } from './transcript/activities_model.js';
import { openingWindow } from './transcript/transcript.js';

/** Asks for what the address names, before there is a place to show it in. */
export function askForAddressed(api) {
  const { conversationId, messageId } = parseAddress(location);
  if (conversationId === null) return;
  api.ahead.getConversationDetails(conversationId);
  api.ahead.listMessages(conversationId, openingWindow(messageId));
  if (showsActivities.get()) api.ahead.listActivities(conversationId, { limit: AT_ONCE });
}
