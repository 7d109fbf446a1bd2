import { knowledgeStrings } from '../strings/en/memories.js';
import { element } from '../ui/dom.js';
import { openDialog } from './dialog.js';
import { button } from './controls.js';

const words = knowledgeStrings.keys;

/** What the keys do. */
export function showShortcuts() {
  const rows = words.rows.flatMap(([keys, what]) => [
    element('dt', {}, ...keys.split(/\s+/).map((key) => element('kbd', { text: key }))), element('dd', { text: what }),
  ]);
  const dialog = openDialog({
    title: words.title,
    content: [element('dl', { class: 'knowledge-keys' }, ...rows)],
    buttons: [button(knowledgeStrings.panel.closeDialog, () => dialog.close(), { class: 'btn btn-primary' })],
  });
}
