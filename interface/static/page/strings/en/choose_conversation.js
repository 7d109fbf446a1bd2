/** What the page says where a conversation is chosen. */

import { count } from './count.js';

export const chooseConversationStrings = {
  find: 'Find a conversation',
  list: 'Conversations',
  found: (n) => count(n, 'conversation', 'conversations'),
  none: 'No conversation is called so.',
  failed: (reason) => `The conversations could not be loaded. ${reason}`,
  cancel: 'Cancel',
};
