import { memoriesStrings } from '../strings/en/memories.js';
import { element } from '../ui/dom.js';
import { openDialog } from './dialog.js';
import { button } from './controls.js';

const words = memoriesStrings.keys;

/** What the keys do. */
export function showShortcuts() {
  const rows = words.rows.flatMap(([keys, what]) => [
    element('dt', {}, ...keys.split(/\s+/).map((key) => element('kbd', { text: key }))), element('dd', { text: what }),
  ]);
  const dialog = openDialog({
    title: words.title,
    content: [element('dl', { class: 'memories-keys' }, ...rows)],
    buttons: [button(memoriesStrings.panel.closeDialog, () => dialog.close(), { class: 'btn btn-primary' })],
  });
}
