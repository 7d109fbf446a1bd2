import { searchStrings as english } from '../en/search.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const searchStrings = fill(english, {
  title: 'Suche',
  close: 'Schließen',
  label: 'Alles durchsuchen',
  placeholder: 'Wörter, "ein Satzteil", -ohne, sender:user …',
  kinds: 'Was gefunden werden soll',
  kind: { all: 'Alles', message: 'Nachrichten', file: 'Dateien', document: 'Dokumente', conversation: 'Unterhaltungen', memory: 'Erinnerungen' },
  help: 'So grenzt du ein',
  operators: [
    ['sauerteig ansatz', 'beide Wörter, in beliebiger Reihenfolge; das letzte darf ein Wortanfang sein'],
    ['"dunkles mehl"', 'diese Wörter nebeneinander'],
    ['-hefe', 'ohne dieses Wort'],
    ['sender:user', 'was du gesagt hast; sender:model ist, was geantwortet wurde'],
    ['in:bread_starter_k3f9', 'in der Unterhaltung dieses Namens'],
    ['after:2026-02-08', 'an diesem Tag oder später; ein Monat (2026-02) oder ein Jahr geht auch'],
    ['before:2026-03', 'davor'],
  ],
  keys: '↑ ↓ zum Wählen, Enter öffnet, Esc geht zurück',
  start: 'Schreibe, woran du dich erinnerst. Nachrichten, Dateien, Dokumente, Unterhaltungen und Erinnerungen werden durchsucht.',
  searching: 'Suche läuft …',
  none: (q) => `Zu „${q}“ wurde nichts gefunden.`,
  found: (n, more) => (more ? `${count(n, 'Ergebnis', 'Ergebnisse')} und mehr` : count(n, 'Ergebnis', 'Ergebnisse')),
  failed: (message) => `Die Suche ist fehlgeschlagen. ${message}`,
  again: 'Erneut versuchen',
  more: 'Mehr anzeigen',
  moreFailed: (message) => `Mehr konnte nicht geladen werden. ${message}`,
  all: { file: 'Mehr Dateien', document: 'Weitere Dokumente', conversation: 'Weitere Unterhaltungen', memory: 'Weitere Erinnerungen' },
  page: (number) => `Seite ${number}`,
  copy: 'Verweis kopieren',
  copyOf: (title) => `Verweis auf „${title}“ kopieren`,
  copied: 'Kopiert!',
});
