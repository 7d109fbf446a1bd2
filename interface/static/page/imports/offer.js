/** The way in for history from elsewhere, where there is little else yet. What it opens is loaded when it is used. */

import { bring } from '../core/api.js';
import { strings } from '../strings/en/conversation.js';
import { attempt } from '../ui/notices/attempts.js';
import { element } from '../ui/dom.js';
import { icon } from '../ui/icons.js';

const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');

/**
 * A button that opens the import, on which a file can be dropped as well.
 *
 * @param {{api: object}} page
 * @returns {HTMLElement}
 */
export function importOffer({ api }) {
  const open = (files) => attempt(async () => (await bring(() => import('./first_run.js'))).openImportDialog({ api }, files), { failed: strings.empty.importFailed });
  const node = element('button', { type: 'button', class: 'import-offer btn btn-quiet', onclick: () => open([]) }, icon('download'), element('span', { text: strings.empty.importOffer }));
  node.addEventListener('dragenter', () => {
    // Files over the page are offered to the message that is written, unless they have left the page.
    document.dispatchEvent(new Event('dragleave'));
  });
  node.addEventListener('dragover', (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
  });
  node.addEventListener('drop', (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    open([...event.dataTransfer.files]);
  });
  return node;
}
