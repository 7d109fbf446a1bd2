/** What the page says of threads and activities. */

import { count } from './count.js';

export const threadStrings = {
  label: 'Threads',
  none: 'No message here is in a thread yet. Reply to a message to begin one.',
  replies: (n) => count(n, 'reply', 'replies'),
  last: (time) => `last ${time}`,
  failed: (reason) => `The thread could not be loaded. ${reason}`,
  more: 'Show more',
  recipe: 'Show',
  allRecipes: 'Everything',
  rename: 'Rename thread',
  renameLabel: 'Title of the thread; empty for its first words',
  renameFailed: (reason) => `The thread could not be renamed. ${reason}`,
  export: 'Export as Markdown',
  reply: (shortId) => `Reply to #${shortId}`,
  elsewhere: 'in another conversation',
  replyTo: (shortId) => `reply to #${shortId}`,
  deleted: '(deleted)',
  copyShortId: 'Copy the short id',
};
