import { paletteStrings as english } from '../en/palette.js';
import { fill } from '../fill.js';
import { count } from './count.js';

export const paletteStrings = fill(english, {
  title: 'Befehle und Unterhaltungen',
  field: 'Befehl, Unterhaltung oder Einstellung eingeben',
  titleBeside: 'Eine Unterhaltung daneben öffnen',
  fieldBeside: 'Welche Unterhaltung soll neben dieser stehen?',
  beside: 'Daneben öffnen (Strg+Eingabe)',
  list: 'Befehle und Unterhaltungen',
  groups: {
    recent: 'Zuletzt', conversations: 'Unterhaltungen', actions: 'Befehle', conversation: 'Diese Unterhaltung', settings: 'Einstellungen', search: 'Suche',
  },
  keys: '↑ ↓ zum Wählen, Enter führt aus, Esc schließt',
  found: (n) => (n ? count(n, 'Eintrag', 'Einträge') : 'Nichts passt.'),
  within: (menu, item) => `${menu.replace(/\s*…$/, '')} › ${item}`,
  searchFor: (query) => `Alles nach „${query}“ durchsuchen`,
  searchFailed: (message) => `Ältere Unterhaltungen konnten nicht durchsucht werden. ${message}`,
  failed: (message) => `Das hat nicht geklappt. ${message}`,
});
