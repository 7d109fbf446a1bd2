/** Importing for whoever is here for the first time: in a dialog over the conversations, which fill meanwhile. */

import { importStrings as words } from '../strings/en/imports.js';
import { element } from '../ui/dom.js';
import { openDialog } from '../ui/controls/dialog.js';
import { createImports } from './imports.js';

/**
 * @param {{api: object}} page
 * @param {File[]} [files] those that were dropped already
 */
export async function openImportDialog(page, files = []) {
  const imports = await createImports(page, { startsAtOnce: true });
  const close = element('button', { type: 'button', class: 'btn btn-quiet', text: words.close, onclick: () => dialog.close() });
  const dialog = openDialog({ title: words.title, className: 'import-dialog', content: [element('p', { class: 'dialog-text', text: words.goesOn }), imports.node], buttons: [close] });
  if (files.length > 0) imports.take(files);
  await dialog.closed;
  imports.stop();
}
