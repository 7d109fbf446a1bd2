import { sidebarStrings as english } from '../en/sidebar.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

const conversations = (n) => count(n, 'Unterhaltung', 'Unterhaltungen');

export const sidebarStrings = fill(english, {
  menu: {
    fork: 'Abzweigen …',
    share: 'Teilen …',
    export: 'Exportieren',
    stopKeeping: 'Nicht mehr speichern',
    keep: 'Wieder speichern',
    tagsMany: (n) => `Schlagwörter von ${number(n)} Unterhaltungen …`,
  },

  tags: {
    title: (n) => `Schlagwörter von ${count(n, 'Unterhaltung', 'Unterhaltungen')}`,
    list: 'Schlagwörter',
    some: (n, total) => `${number(n)} von ${number(total)}`,
    label: 'Weitere Schlagwörter',
    hint: 'Die Eingabetaste fügt das Geschriebene hinzu; mehrere mit Kommas dazwischen.',
    add: 'Hinzufügen',
    added: (tags) => `Hinzugefügt: ${tags}`,
    tooLong: (most) => `Ein Schlagwort hat höchstens ${number(most)} Zeichen.`,
    done: (n) => `Schlagwörter von ${count(n, 'Unterhaltung', 'Unterhaltungen')} geändert`,
    full: 'Vielleicht gibt es sie nicht mehr, oder sie haben schon so viele Schlagwörter wie möglich.',
  },

  many: {
    running: (n) => `${conversations(n)} werden geändert …`,
    left: (n, total) => `${number(n)} von ${conversations(total)} konnten nicht geändert werden.`,
    gone: 'Vielleicht gibt es sie nicht mehr, oder sie gehören woandershin.',
    goneOne: 'Das hat nicht geklappt. Vielleicht gibt es die Unterhaltung nicht mehr.',
    moved: (n, name) => `${conversations(n)} nach „${name}“ verschoben`,
  },

  stateless: {
    on: 'Was ab jetzt hier gesagt wird, wird nicht gespeichert.',
    off: 'Was hier gesagt wird, wird wieder gespeichert.',
  },

  workspace: {
    deleted: (name) => `Arbeitsbereich „${name}“ gelöscht`,
    restored: (name) => `Arbeitsbereich „${name}“ zurückgeholt`,
  },

  fork: {
    title: (title) => `„${title}“ abzweigen`,
    text: 'Eine Kopie, die ab der gewählten Nachricht weitergeht. Diese Unterhaltung bleibt, wie sie ist.',
    find: 'Nachricht finden',
    whole: 'Die ganze Unterhaltung',
    messages: 'Nachrichten',
    loading: 'Nachrichten werden geladen …',
    none: 'Nichts passt.',
    empty: 'Es gibt noch keine Nachrichten.',
    failed: (message) => `Die Nachrichten konnten nicht geladen werden. ${message}`,
    cancel: 'Abbrechen',
    done: (title) => `„${title}“ abgezweigt`,
    from: (index) => `#${index}`,
  },
});
