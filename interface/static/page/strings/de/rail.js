import { railStrings as english } from '../en/rail.js';
import { fill } from '../fill.js';
import { money } from './count.js';

export const railStrings = fill(english, {
  usage: 'Verbrauch',
  noUsage: 'Hier wurde noch keine Antwort gezählt.',
  answers: 'Antworten',
  read: 'Gelesene Tokens',
  written: 'Geschriebene Tokens',
  cost: 'Preis',
  costs: (amounts) => amounts.map(([currency, amount]) => money(amount, currency)).join(' + '),
  allBranches: 'Alle Zweige und Varianten dieser Unterhaltung.',
  label: 'Details zur Unterhaltung',
  close: 'Schließen',
  references: 'Verweise',
  backlinks: 'Erwähnt in',
  pins: 'Angeheftet',
  branches: 'Zweige',
  noReferences: 'In den gezeigten Nachrichten verweist noch nichts auf etwas. Schreibe @, um eine Unterhaltung, eine Nachricht oder eine Erinnerung zu nennen.',
  noBacklinks: 'Keine Nachricht verweist auf diese Unterhaltung als Ganzes oder auf einen Bereich ihrer Nachrichten. Was auf eine einzelne Nachricht verweist, steht unter dieser.',
  noPins: 'Keine Nachricht ist angeheftet. Hefte eine über ihr Menü an.',
  noBranches: 'Noch keine Frage wurde anders noch einmal gestellt. Bearbeite eine Frage und wähle „Speichern und neu antworten lassen“.',
  files: 'Dateien',
  noFiles: 'Noch hat hier keine Nachricht eine Datei. Zieh eine auf die Seite, füge ein Bild ein oder klicke auf die Büroklammer.',
});
