import { memoryStrings as english } from '../en/memory_proposals.js';
import { fill } from '../fill.js';
import { count } from './count.js';

const memories = (n) => count(n, 'Erinnerung', 'Erinnerungen');

export const memoryStrings = fill(english, {
  command: {
    listTitle: 'Befehle',
    close: 'Schließen',
    text: 'Text',
    unknown: (name) => `Einen Befehl /${name} gibt es nicht. /help nennt alle, die es gibt.`,
    asText: 'Als Text senden',
    nothingSaid: 'Hier wurde noch nichts gesagt. Schreibe hinter /memory, was du dir merken willst.',
    usage: 'Schreibe hinter /memory, was du dir merken willst.',
  },

  confirm: {
    title: 'Neue Erinnerung',
    statement: 'Aussage',
    type: 'Art',
    domain: 'Bereich',
    discard: 'Verwerfen, was du geschrieben hast?',
    discardConfirm: 'Verwerfen',
    tags: 'Schlagwörter',
    tagsHint: 'durch Kommas getrennt',
    about: (names) => `Über: ${names}`,
    thinking: 'Vorschläge werden gesucht …',
    modelLooks: (seconds) => (seconds >= 2 ? `Das Modell sieht es sich auch an: etwa ${Math.ceil(seconds)} s. Du kannst sie jetzt schon hinzufügen.` : 'Das Modell sieht es sich auch an. Du kannst sie jetzt schon hinzufügen.'),
    noSuggestions: 'Gerade keine Vorschläge. Du kannst sie so hinzufügen, wie sie ist.',
    add: 'Merken',
    adding: 'Wird gemerkt …',
    cancel: 'Abbrechen',
    failed: (message) => `Das wurde nicht gemerkt. ${message}`,
    done: (friendlyId) => `Gemerkt als @${friendlyId}`,
    undo: 'Rückgängig',
    undone: 'Es ist wieder vergessen.',
    undoFailed: (message) => `Das konnte nicht rückgängig gemacht werden. ${message}`,
    similar: {
      duplicate: (friendlyId) => `Das hast du schon: @${friendlyId}`,
      contradiction: (friendlyId) => `Das sagt etwas anderes als @${friendlyId}`,
    },
    replace: 'Jene ersetzen',
    conflict: 'Sonst bleiben beide, und der Widerspruch wartet auf dich unter Erinnerungen, Widersprüche.',
  },

  proposals: {
    title: 'Das merken?',
    looking: 'Es wird gesucht, was sich zu merken lohnt …',
    modelLooks: (seconds) => (seconds >= 2 ? `Das Modell sucht auch: etwa ${Math.ceil(seconds)} s.` : 'Das Modell sucht auch …'),
    modelFailed: (message) => `Das Modell hat nichts weiter gefunden. ${message}`,
    none: 'Darin gibt es nichts Neues zu merken.',
    failed: (message) => `Das hat nicht geklappt. ${message}`,
    again: 'Erneut versuchen',
    accept: (n) => (n === 0 ? 'Merken' : `${memories(n)} merken`),
    accepting: 'Wird gemerkt …',
    dismiss: 'Schließen',
    close: 'Schließen',
    gone: 'Diese Nachricht wird nicht mehr gezeigt.',
    expired: 'Diese Vorschläge sind abgelaufen.',
    action: {
      add: '',
      update: (friendlyId) => `Ersetzt @${friendlyId}`,
      skip: (friendlyId) => `Das hast du schon: @${friendlyId}`,
      conflict: (friendlyId) => `Das sagt etwas anderes als @${friendlyId}`,
    },
    result: { add: 'Gemerkt', update: 'Ersetzt', skip: 'Unverändert gelassen', conflict: 'Behalten, mit einem Widerspruch zu entscheiden' },
    show: 'Zeigen',
    undo: 'Rückgängig',
    undone: 'Es ist wie vorher.',
    done: (n) => (n === 0 ? 'Nichts wurde gemerkt.' : `${memories(n)} gemerkt.`),
  },
});
