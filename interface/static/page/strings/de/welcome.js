import { welcomeStrings as english } from '../en/welcome.js';
import { fill } from '../fill.js';

export const welcomeStrings = fill(english, {
  failed: (message) => `Die Begrüßung konnte nicht angelegt werden. ${message}`,
  suggestions: 'Zum Ausprobieren',
  lead: 'Probiere:',
  dismiss: 'Diese nicht mehr vorschlagen',
  dismissFailed: (message) => `Die Vorschläge konnten nicht ausgeblendet werden. ${message}`,
  noModel: 'Kein Modell ist eingerichtet, also antwortet niemand; worauf du verweist, wird trotzdem gefunden.',
});
