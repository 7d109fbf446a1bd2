/** What the page says about conversations as files. */

export const exportStrings = {
  formats: { markdown: 'Markdown', html: 'Web page (HTML)', json: 'JSON', bundle: 'Bundle (ZIP)' },
  running: 'Exporting the conversation…',
  done: (name) => `Saved “${name}”`,
  failed: (message) => `The conversation could not be exported. ${message}`,
  again: 'Try again',
};
