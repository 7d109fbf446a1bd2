/** What the command palette says. */

import { count } from './count.js';

export const paletteStrings = {
  title: 'Commands and conversations',
  field: 'Type a command, a conversation or a setting',
  titleBeside: 'Open a conversation beside',
  fieldBeside: 'Which conversation is to stand beside this one?',
  beside: 'Open beside (Ctrl+Enter)',
  list: 'Commands and conversations',
  groups: {
    recent: 'Recent', conversations: 'Conversations', actions: 'Commands', conversation: 'This conversation', settings: 'Settings', search: 'Search',
  },
  keys: '↑ ↓ to choose, Enter to do it, Esc to close',
  found: (n) => (n ? count(n, 'entry', 'entries') : 'Nothing matches.'),
  within: (menu, item) => `${menu.replace(/…$/, '')} › ${item}`,
  searchFor: (query) => `Search everything for “${query}”`,
  searchFailed: (message) => `Older conversations could not be searched. ${message}`,
  failed: (message) => `That did not work. ${message}`,
};
