/** @see ../en/documents.js */

import { documentStrings as english } from '../en/documents.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

export const documentStrings = fill(english, {
  title: 'Dokumente',
  close: 'Dokumente schließen',
  search: 'Ein Dokument finden',
  newName: 'Pfad eines neuen Dokuments',
  create: 'Neues Dokument',
  failed: (message) => `Die Dokumente konnten nicht geladen werden. ${message}`,
  count: (n) => count(n, 'Dokument', 'Dokumente'),
  inText: 'Im Text',
  noMatch: 'Kein Dokument passt.',
  empty: 'Es gibt noch keine Dokumente. Schreibe hier eines, oder lege Markdown-Dateien in deinen Vault.',
  broken: 'Links, die nirgends hinführen',
  noBroken: 'Jeder Link führt zu einem Dokument.',
  orphans: 'Dokumente ohne Links',
  noOrphans: 'Jedes Dokument ist verlinkt.',
  graph: 'Links als Bild',
  leftOut: (n) => `${count(n, 'Dokument', 'Dokumente')} nicht gezeigt`,
  gone: 'Dieses Dokument gibt es nicht mehr.',
  all: 'Alle Dokumente',
  edit: 'Bearbeiten',
  backlinks: 'Verlinkt von',
  brokenHere: 'Links, die nirgends hinführen',
  brokenAt: (link, line) => `${link}, Zeile ${number(line)}`,
  usedBy: 'Nachrichten, die es verwendet haben',
  untitled: '(ohne Titel)',
  text: 'Text des Dokuments',
  save: 'Speichern',
  preview: 'Vorschau',
  discard: 'Änderungen verwerfen',
  saving: 'Wird gespeichert…',
  savedMeanwhile: 'Gespeichert. Was du inzwischen getippt hast, ist noch nicht gespeichert.',
  saveFailed: (message) => `Nicht gespeichert. ${message}`,
  changedMeanwhile: 'Das Dokument wurde inzwischen geändert. Das steht jetzt darin:',
  deletedMeanwhile: 'Das Dokument wurde inzwischen gelöscht.',
  keepMine: 'Stattdessen meinen Text speichern',
  takeTheirs: 'Diesen Text übernehmen',
});
