import { importStrings as english } from '../en/imports.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

const conversations = (n) => count(n, 'Unterhaltung', 'Unterhaltungen');
const messages = (n) => count(n, 'Nachricht', 'Nachrichten');

function timeLeft(seconds) {
  if (seconds === null) return '';
  return seconds < 60 ? ` · noch etwa ${number(Math.ceil(seconds))} s` : ` · noch etwa ${number(Math.ceil(seconds / 60))} min`;
}

function outcome({ imported, updated, skipped, failed }) {
  const parts = [`${number(imported)} importiert`, updated && `${number(updated)} aktualisiert`, skipped && `${number(skipped)} übersprungen`, failed && `${number(failed)} mit Problemen`];
  return parts.filter(Boolean).join(' · ');
}

export const importStrings = fill(english, {
  title: 'Verlauf mitbringen',
  drop: 'Die Datei eines Exports hier ablegen',
  choose: 'Datei wählen…',
  cancel: 'Abbrechen',
  close: 'Schließen',
  goesOn: 'Die Unterhaltungen erscheinen in der Seitenleiste, sobald sie gespeichert sind. Du kannst dies jederzeit schließen: Es geht weiter.',
  list: 'Importe',
  whereFrom: 'Woher bekomme ich die Datei?',
  products: [
    ['ChatGPT', 'Einstellungen › Datenkontrollen › Daten exportieren. Ein Link zu einer ZIP-Datei kommt per E-Mail.'],
    ['Claude', 'Einstellungen › Datenschutz › Daten exportieren. Ein Link zu einer ZIP-Datei kommt per E-Mail.'],
    ['Open WebUI', 'Einstellungen › Datenverwaltung › Chats exportieren ergibt eine JSON-Datei.'],
    ['LibreChat', 'Teilen › Unterhaltung als JSON exportieren, mit allen Zweigen. Viele davon passen in eine ZIP-Datei.'],
    ['zk-chat', 'Die Datei .zk_chat_db/chat_sessions.json im Vault.'],
    ['Anaphora', 'Alles herunterladen: die ZIP-Datei. Oder Exportieren im Menü einer Unterhaltung, als JSON.'],
    ['Erste Implementierung', 'Eine ZIP-Datei ihrer Ordner von Unterhaltungen, ihre pkb.sqlite mit den Erinnerungen oder beides in einer ZIP-Datei.'],
    ['Notizen', 'Markdown-Dateien, etwa ein Obsidian-Vault als ZIP-Datei: Dokumente › Importieren.'],
    ['Alles andere', 'JSON Lines: Das Benutzerhandbuch sagt, wie.'],
  ],
  sources: {
    chatgpt: 'ChatGPT', claude: 'Claude', open_webui: 'Open WebUI', librechat: 'LibreChat', zk_chat: 'zk-chat', first_implementation: 'Erste Implementierung',
    json_lines: 'JSON Lines', anaphora: 'Anaphora', account: 'Anaphora, alles',
  },
  sending: (name) => `${name} wird gesendet…`,
  notTaken: (message) => `Die Datei wurde nicht angenommen. ${message}`,
  notKnown: (name) => `„${name}“ ist keine Datei, die sich importieren lässt. Wähle eine von diesen:`,
  failed: (message) => `Das hat nicht geklappt. ${message}`,
  progress: (name) => `Fortschritt von ${name}`,
  messages,
  vectors: (n) => `Nachrichten, die nach Wörtern gefunden werden und bald auch nach ihrer Bedeutung: ${number(n)}`,
  lesson: (name) => `„${name}“ sagt, was ein anderes Programm sich über dich gemerkt hat. Daraus können Erinnerungen werden; nichts wird gespeichert, bevor du zustimmst.`,
  learn: 'Erinnerungen darin finden',
  problems: (n) => `${count(n, 'Problem', 'Probleme')}`,
  stays: (n) => `${number(n)} ${n === 1 ? 'bleibt' : 'bleiben'}`,
  workspace: 'Arbeitsbereich',
  usualWorkspace: 'Wie in der Datei',
  which: 'Unterhaltungen auswählen',
  all: 'Alle',
  none: 'Keine',
  questions: {
    undo: { title: 'Den Import zurücknehmen?', text: 'Was er gebracht hat, wird gelöscht, außer Unterhaltungen, die du weitergeführt hast.' },
    stop: { title: 'Den Import beenden?', text: 'Was gespeichert ist, bleibt. Danach lässt es sich zurücknehmen.' },
  },
  actions: {
    start: 'Importieren', cancel: 'Verwerfen', pause: 'Anhalten', resume: 'Weiter', stop: 'Beenden', undo: 'Import zurücknehmen', report: 'Bericht herunterladen',
    forget: 'Aus dieser Liste entfernen',
  },
  states: {
    counting: (given) => `Die Datei wird gelesen: bisher ${conversations(given.conversations)}, ${messages(given.messages)}…`,
    ready: (given) => (given.conversations ? `${conversations(given.conversations)} mit ${messages(given.messages)}.` : 'Erinnerungen, Dokumente oder Einstellungen, und keine Unterhaltungen.'),
    running: (given) => `${given.counted ? `${number(given.done)} von ${messages(given.messages)}` : messages(given.done)} · ${number(Math.round(given.messages_per_second ?? 0))} pro Sekunde${timeLeft(given.seconds_left)}`,
    waiting: (given) => `Es konnte nicht gespeichert werden und wird um ${given.time} wieder versucht. ${given.error}`,
    paused: (given) => `Angehalten nach ${messages(given.done)}.`,
    done: (given) => `Fertig: ${outcome(given)}.`,
    failed: (given) => `Es ging nicht weiter. ${given.error}`,
    cancelled: (given) => `Beendet: ${outcome(given)}.`,
    undoing: () => 'Wird zurückgenommen…',
    undone: () => 'Zurückgenommen.',
  },
});
