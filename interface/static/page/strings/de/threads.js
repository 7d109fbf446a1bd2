import { threadStrings as english } from '../en/threads.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const threadStrings = fill(english, {
  label: 'Stränge',
  none: 'Noch keine Nachricht hier gehört zu einem Strang. Antworte auf eine Nachricht, um einen zu beginnen.',
  replies: (n) => count(n, 'Antwort', 'Antworten'),
  last: (time) => `zuletzt ${time}`,
  failed: (reason) => `Der Strang konnte nicht geladen werden. ${reason}`,
  more: 'Mehr zeigen',
  recipe: 'Zeigen',
  allRecipes: 'Alles',
  rename: 'Strang umbenennen',
  renameLabel: 'Titel des Strangs; leer für seine ersten Wörter',
  renameFailed: (reason) => `Der Strang konnte nicht umbenannt werden. ${reason}`,
  export: 'Als Markdown exportieren',
  reply: (shortId) => `Auf #${shortId} antworten`,
  elsewhere: 'in einer anderen Unterhaltung',
  replyTo: (shortId) => `Antwort auf #${shortId}`,
  deleted: '(gelöscht)',
  copyShortId: 'Kurzkennung kopieren',
});
