/** What the page says about conversations as files. */

import { count, number } from './count.js';

export const exportStrings = {
  formats: { markdown: 'Markdown', html: 'Web page (HTML)', json: 'JSON', bundle: 'Bundle (ZIP)' },
  running: 'Exporting the conversation…',
  done: (name) => `Saved “${name}”`,
  failed: (message) => `The conversation could not be exported. ${message}`,
  again: 'Try again',
  archive: {
    begun: 'Beginning…',
    progress: 'Progress of the download',
    far: (done, total, bytes) => `${number(done)} of ${count(total, 'conversation', 'conversations')} · ${number(bytes / 1e6)} MB`,
    cancel: 'Cancel',
    cancelled: 'The download was cancelled. Nothing was saved.',
    brokeOff: 'The download broke off before its end: check the connection.',
    failed: (message) => `Nothing was saved. ${message}`,
  },
};
