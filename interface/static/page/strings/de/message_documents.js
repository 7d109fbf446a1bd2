import { messageDocumentStrings as english } from '../en/message_documents.js';
import { fill } from '../fill.js';
import { number } from './count.js';

export const messageDocumentStrings = fill(english, {
  label: 'Dokumente',
  used: 'Dokumente',
  found: 'Gefunden',
  more: (n) => `+${number(n)} weitere`,
  none: 'Kein Dokument passt.',
  noneHere: 'Noch keine Nachricht hier verweist auf ein Dokument. Tippe [[, um eines zu nennen.',
  related: 'Diese könnten auch dazugehören',
  deleted: 'Inzwischen gelöscht',
  onlyFound: 'gefunden, nicht verwendet',
  goTo: (index) => `Zu Nachricht ${index}`,
});
