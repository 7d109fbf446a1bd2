import { exportStrings as english } from '../en/export.js';
import { fill } from '../fill.js';

export const exportStrings = fill(english, {
  formats: { markdown: 'Markdown', html: 'Webseite (HTML)', json: 'JSON', bundle: 'Paket (ZIP)' },
  running: 'Die Unterhaltung wird exportiert …',
  done: (name) => `„${name}“ gespeichert`,
  failed: (message) => `Die Unterhaltung konnte nicht exportiert werden. ${message}`,
  again: 'Erneut versuchen',
});
