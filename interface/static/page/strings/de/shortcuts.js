import { shortcutStrings as english } from '../en/shortcuts.js';
import { fill } from '../fill.js';

export const shortcutStrings = fill(english, {
  title: 'Tastenkürzel',
  close: 'Schließen',
  failed: (message) => `Die Tastenkürzel konnten nicht geladen werden. ${message}`,
  nothingToCopy: 'Diese Unterhaltung hat noch keinen Namen: Sie bekommt ihn mit ihrer ersten Antwort.',
  copied: (reference) => `${reference} kopiert`,
  keys: { Mod: 'Strg', Alt: 'Alt', Shift: 'Umschalt' },
  macKeys: { Mod: '⌘', Alt: '⌥', Shift: '⇧' },
  of: {
    search: 'Alles durchsuchen',
    newConversation: 'Neue Unterhaltung',
    previous: 'Vorige Unterhaltung der Seitenleiste',
    next: 'Nächste Unterhaltung der Seitenleiste',
    sidebar: 'Seitenleiste zeigen oder ausblenden',
    copyReference: 'Verweis auf diese Unterhaltung kopieren',
    settings: 'Einstellungen',
    compose: 'Zum Eingabefeld',
    help: 'Diese Liste zeigen',
    send: 'Nachricht senden',
    newLine: 'Neue Zeile in der Nachricht',
    mention: 'In einer Nachricht: auf eine Unterhaltung, eine Nachricht, eine Erinnerung verweisen',
    command: 'Am Anfang einer Nachricht: ein Befehl',
    close: 'Schließen, was offen ist',
  },
});
