import { messageActionStrings as english } from '../en/message_actions.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const messageActionStrings = fill(english, {
  remove: {
    done: (n) => `${count(n, 'Nachricht', 'Nachrichten')} gelöscht.`,
    failed: (message) => `Die Nachricht konnte nicht gelöscht werden. ${message}`,
    restoreFailed: (message) => `Die Nachricht konnte nicht zurückgeholt werden. ${message}`,
  },

  fork: {
    running: 'Die Unterhaltung wird kopiert …',
    done: 'Das ist eine Kopie bis zu dieser Nachricht: Führe sie von hier anders weiter.',
    failed: (message) => `Die Unterhaltung konnte nicht abgezweigt werden. ${message}`,
  },

  selection: {
    label: 'Ausgewählte Nachrichten',
    count: (n) => count(n, 'Nachricht ausgewählt', 'Nachrichten ausgewählt'),
    copyReferences: 'Verweise kopieren',
    clear: 'Auswahl aufheben',
  },

  compare: {
    title: (n) => `${count(n, 'Antwort', 'Antworten')} auf dieselbe Frage`,
    list: 'Die Antworten',
    place: (number, total) => `${number} von ${total}`,
    shown: 'steht in der Unterhaltung',
    use: 'Diese verwenden',
    empty: 'Sie sagt nichts.',
    close: 'Schließen',
  },
});
