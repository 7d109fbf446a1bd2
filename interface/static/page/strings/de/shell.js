import { shellStrings as english } from '../en/shell.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

export const shellStrings = fill(english, {
  dialog: { cancel: 'Abbrechen', save: 'Speichern', confirm: 'Weiter' },

  session: {
    ended: 'Du bist abgemeldet. Was du geschrieben hast, bleibt in diesem Browser.',
    signIn: 'Anmelden',
    other: (email) => `In diesem Browser ist jetzt ein anderes Konto angemeldet. Diese Seite gehört ${email}: Was du hier tust, wird nicht ausgeführt. Was du geschrieben hast, bleibt für ${email} erhalten.`,
    reload: 'Neu laden',
    logOutTitle: 'Abmelden und entfernen, was nicht gesendet ist?',
    logOutText: 'Es gibt Entwürfe oder Nachrichten, die nicht gesendet sind. Sie liegen nur in diesem Browser und werden beim Abmelden entfernt.',
    logOut: 'Entfernen und abmelden',
  },

  defaultWorkspace: 'Allgemein',
  globalAssistant: 'Globaler Assistent',

  toast: { dismiss: 'Schließen', undo: 'Rückgängig' },

  version: { newer: 'Anaphora wurde auf dem Server aktualisiert.', reload: 'Neu laden' },
  keepsNothing: 'Der Browser kann gerade nicht behalten, was du schreibst: Es ist weg, wenn du diese Seite verlässt.',

  attention: {
    done: 'Die Antwort ist fertig.',
    untitled: 'Anaphora',
    offer: 'Eine Antwort wurde fertig, während du woanders warst. Soll dein Browser dir nächstes Mal Bescheid sagen?',
    accept: 'Bescheid sagen',
  },

  proposals: {
    open: (n) => count(n, 'Vorschlag', 'Vorschläge'),
    failed: (message) => `Die Vorschläge konnten nicht geladen werden. ${message}`,
  },

  sidebar: {
    label: 'Unterhaltungen',
    loading: 'Unterhaltungen werden geladen …',
    failed: (message) => `Deine Unterhaltungen konnten nicht geladen werden. ${message}`,
    again: 'Erneut versuchen',
    empty: 'Noch keine Unterhaltungen.',
    open: 'Seitenleiste anzeigen',
    close: 'Seitenleiste ausblenden',
    actionFailed: (message) => `Das hat nicht geklappt. ${message}`,
    rowActions: 'Aktionen',
    actionsOf: (title) => `Aktionen für „${title}“`,
    selected: (n) => `${number(n)} Unterhaltungen ausgewählt`,
    dragged: 'ausgewählt',
    newTemporary: 'Temporäre Unterhaltung',
    more: 'Mehr anzeigen',
    moreOf: (n) => `Mehr anzeigen (${number(n)})`,
    moreConversations: 'Weitere Unterhaltungen anzeigen',
  },

  shelves: {
    loading: 'Wird geladen …',
    failed: (message) => `Das konnte nicht geladen werden. ${message}`,
    archiveEmpty: 'Nichts ist archiviert.',
    binEmpty: 'Der Papierkorb ist leer.',
    daysLeft: (n) => `noch ${count(n, 'Tag', 'Tage')}`,
    restore: (title) => `„${title}“ wiederherstellen`,
    erase: (title) => `„${title}“ endgültig löschen`,
    eraseTitle: (title) => `„${title}“ endgültig löschen?`,
    eraseText: 'Sie lässt sich nicht zurückholen, und Verweise auf sie melden, dass sie gelöscht wurde.',
    eraseConfirm: 'Endgültig löschen',
    empty: 'Papierkorb leeren',
    emptyTitle: (n) => `${count(n, 'Unterhaltung', 'Unterhaltungen')} endgültig löschen?`,
    emptied: (n) => `${count(n, 'Unterhaltung', 'Unterhaltungen')} endgültig gelöscht`,
    emptying: 'Der Papierkorb wird geleert …',
  },

  flags: { none: 'Keine Markierung', red: 'Rot', orange: 'Orange', yellow: 'Gelb', green: 'Grün', blue: 'Blau', purple: 'Violett' },
  flagged: (title, color) => `${title}, markiert: ${color}`,
  unkept: (title) => `${title}, wird nicht gespeichert`,
  answering: 'wird beantwortet',
  unread: 'ungelesene Antwort',

  filter: {
    searching: 'Suche läuft …',
    matches: (n) => (n ? count(n, 'Treffer', 'Treffer') : 'Kein Treffer.'),
    more: (n) => `Die ersten ${number(n)} Treffer. Tippe mehr, um sie einzugrenzen.`,
    failed: (message) => `Die Suche ist fehlgeschlagen. ${message}`,
    workspace: 'Arbeitsbereich',
    tag: (n) => count(n, 'Unterhaltung', 'Unterhaltungen'),
  },

  conversationMenu: {
    copyReference: 'Verweis auf die Unterhaltung kopieren',
    copyFullReference: 'Vollständigen Verweis kopieren',
    openWindow: 'In neuem Fenster öffnen',
    openBeside: 'Daneben öffnen',
    rename: 'Umbenennen',
    clone: 'Duplizieren',
    pin: 'Anheften',
    unpin: 'Lösen',
    pinMany: (n) => `${number(n)} Unterhaltungen anheften`,
    unpinMany: (n) => `${number(n)} Unterhaltungen lösen`,
    flag: 'Markieren',
    flagMany: (n) => `${number(n)} Unterhaltungen markieren`,
    tags: 'Schlagwörter …',
    archive: 'Archivieren',
    archiveMany: (n) => `${number(n)} Unterhaltungen archivieren`,
    unarchive: 'Aus dem Archiv holen',
    moveTo: 'Verschieben nach …',
    delete: 'Löschen',
    deleteMany: (n) => `${number(n)} Unterhaltungen löschen`,
    moveMany: (n) => `${number(n)} Unterhaltungen verschieben nach …`,
  },

  workspaceMenu: {
    newConversation: 'Neue Unterhaltung',
    newWorkspace: 'Neuer Unterbereich',
    rename: 'Umbenennen',
    color: 'Farbe ändern',
    moveTo: 'Verschieben nach …',
    topLevel: 'Oberste Ebene',
    delete: 'Löschen',
    colors: {
      primary: 'Blau',
      success: 'Grün',
      danger: 'Rot',
      warning: 'Bernstein',
      info: 'Türkis',
      secondary: 'Grau',
    },
  },

  conversation: {
    referenceCopied: (reference) => `${reference} kopiert`,
    renameTitle: 'Unterhaltung umbenennen',
    renameLabel: 'Titel',
    tagsTitle: (title) => `Schlagwörter von „${title}“`,
    tagsLabel: 'Schlagwörter, durch Kommas getrennt',
    deleted: (title) => `„${title}“ gelöscht`,
    deletedMany: (n) => `${count(n, 'Unterhaltung', 'Unterhaltungen')} gelöscht`,
    deletedElsewhere: 'Diese Unterhaltung wurde in einem anderen Fenster gelöscht. Im Papierkorb bleibt sie 30 Tage.',
    restored: 'Wiederhergestellt',
    archived: (title) => `„${title}“ archiviert`,
    archivedMany: (n) => `${count(n, 'Unterhaltung', 'Unterhaltungen')} archiviert`,
    unarchived: (title) => `„${title}“ aus dem Archiv geholt`,
    cloned: (title) => `„${title}“ dupliziert`,
  },

  workspace: {
    newTitle: 'Neuer Arbeitsbereich',
    label: 'Name',
    create: 'Anlegen',
    renameTitle: 'Arbeitsbereich umbenennen',
    deleteTitle: (name) => `„${name}“ löschen?`,
    deleteText: 'Die Unterhaltungen und Bereiche darin bleiben: Sie wandern in den Bereich darüber.',
    deleteConfirm: 'Arbeitsbereich löschen',
  },
});
