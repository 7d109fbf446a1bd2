import { exportStrings as english } from '../en/export.js';
import { fill } from '../fill.js';
import { count, number } from './count.js';

export const exportStrings = fill(english, {
  formats: { markdown: 'Markdown', html: 'Webseite (HTML)', json: 'JSON', bundle: 'Paket (ZIP)' },
  running: 'Die Unterhaltung wird exportiert …',
  done: (name) => `„${name}“ gespeichert`,
  failed: (message) => `Die Unterhaltung konnte nicht exportiert werden. ${message}`,
  again: 'Erneut versuchen',
  archive: {
    begun: 'Beginnt …',
    progress: 'Fortschritt des Downloads',
    far: (done, total, bytes) => `${number(done)} von ${count(total, 'Unterhaltung', 'Unterhaltungen')} · ${number(bytes / 1e6)} MB`,
    cancel: 'Abbrechen',
    cancelled: 'Der Download wurde abgebrochen. Es wurde nichts gespeichert.',
    brokeOff: 'Der Download ist vor dem Ende abgerissen: Prüfe die Verbindung.',
    failed: (message) => `Es wurde nichts gespeichert. ${message}`,
  },
});
