import { chooseConversationStrings as english } from '../en/choose_conversation.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const chooseConversationStrings = fill(english, {
  find: 'Unterhaltung suchen',
  list: 'Unterhaltungen',
  found: (n) => count(n, 'Unterhaltung', 'Unterhaltungen'),
  none: 'Keine Unterhaltung heißt so.',
  failed: (reason) => `Die Unterhaltungen konnten nicht geladen werden. ${reason}`,
  cancel: 'Abbrechen',
});
