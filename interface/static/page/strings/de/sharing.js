import { shareStrings as english } from '../en/sharing.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

const messages = (n) => count(n, 'Nachricht', 'Nachrichten');
const size = (bytes) => (bytes >= 1e6 ? `${number(Math.round(bytes / 1e5) / 10)} MB` : `${number(Math.ceil(bytes / 1024))} KB`);

export const shareStrings = fill(english, {
  again: 'Erneut versuchen',
  messages,
  size,

  dialog: {
    title: (title) => `„${title}“ teilen`,
    looking: 'Es wird nachgesehen, was geteilt werden kann …',
    lookFailed: (message) => `Es konnte nicht nachgesehen werden, ob das geteilt ist. ${message}`,
    shows: (n) => `Wer den Link hat, kann ohne Konto ${messages(n)} lesen, wie sie jetzt sind. Was später gesagt wird, bleibt hier.`,
    nothing: 'Es gibt noch nichts zu teilen: Keine Nachricht ist fertig.',
    stays: 'Nicht dabei: verborgene Nachrichten, Erinnerungen, Einstellungen, andere Unterhaltungen und deine E-Mail-Adresse.',
    hidden: (n) => `${messages(n)} ${n === 1 ? 'ist verborgen und fehlt' : 'sind verborgen und fehlen'} darin.`,
    quotes: 'Verweise bleiben die Wörter, die du geschrieben hast, und Antworten können zitieren, was ihnen gegeben wurde, auch Erinnerungen und andere Nachrichten. Lies alles noch einmal, bevor du teilst.',
    files: {
      which: 'Dateien, die der Link zeigt',
      note: 'Nur die angekreuzten. Von einem Bild bleiben die Metadaten (etwa der Aufnahmeort) weg.',
    },
    create: 'Link anlegen',
    creating: 'Die Momentaufnahme wird gemacht …',
    createFailed: (message) => `Das konnte nicht geteilt werden. ${message}`,
    link: 'Link',
    copy: 'Kopieren',
    copied: 'Kopiert',
    made: 'Der Link ist erstellt und kopiert.',
    notCopied: 'Der Link ist erstellt. Dieser Browser hat ihn nicht von selbst kopieren lassen: Er ist oben markiert, kopiere ihn von dort.',
    open: 'Öffnen',
    since: (moment, n) => `Er zeigt ${messages(n)}, wie sie am ${moment} waren.`,
    unknown: 'Der Link funktioniert, aber dieser Server kann ihn nicht mehr zeigen, da sein geheimer Schlüssel geändert wurde. „Momentaufnahme erneuern“ legt einen neuen an.',
    update: 'Momentaufnahme erneuern',
    updated: 'Der Link zeigt die Unterhaltung, wie sie jetzt ist.',
    withdraw: 'Link zurückziehen',
    close: 'Schließen',
  },

  withdraw: {
    title: 'Den Link zurückziehen?',
    text: 'Wer ihn hat, sieht dann nichts mehr. Er lässt sich nicht zurückholen; erneutes Teilen ergibt einen anderen Link.',
    confirm: 'Zurückziehen',
    running: 'Wird zurückgezogen …',
    done: 'Der Link wurde zurückgezogen.',
    failed: (message) => `Der Link konnte nicht zurückgezogen werden. ${message}`,
  },

  list: {
    looking: 'Die Links werden geladen …',
    none: 'Nichts ist geteilt.',
    failed: (message) => `Die Links konnten nicht geladen werden. ${message}`,
    about: (n, moment) => `${messages(n)}, Stand ${moment}`,
    inBin: 'im Papierkorb, führt gerade nirgendwohin',
    copy: (title) => `Link zu „${title}“ kopieren`,
    open: (title) => `Link zu „${title}“ öffnen`,
    withdraw: (title) => `Link zu „${title}“ zurückziehen`,
  },

  page: {
    sender: { user: 'Person', assistant: 'Assistent' },
    about: (n, moment) => `${messages(n)} · eine Kopie zum Lesen, Stand ${moment}`,
    loading: 'Wird geladen …',
    more: 'Mehr anzeigen',
    failed: (message) => `Mehr konnte nicht geladen werden. ${message}`,
    save: (name) => `${name} speichern`,
    gone: (name) => `„${name}“ ist nicht mehr da. Lade die Seite neu, um zu sehen, was der Link jetzt zeigt.`,
  },
});
