/** Files of a message, below its words: a picture is shown, any file is opened by a click. */

import { bring } from '../../../core/api.js';
import { strings } from '../../../strings/en/conversation.js';
import { element } from '../../../ui/dom.js';
import { icon } from '../../../ui/icons.js';
import { showToast } from '../../../ui/notices/toast.js';

/** Shows a file that a message has. @param {{attachment_id: string, name: string, kind: string}} part @param {object} api */
export async function openFile(part, api) {
  try {
    const { openViewer } = await bring(() => import('../../../composer/attachments/viewer.js'));
    openViewer(part, api);
  } catch (error) {
    showToast(error.message);
  }
}

/** What stands on the button of a file. */
function faceOf({ kind, name, attachment_id: id, width, height }) {
  if (kind !== 'image') return [icon('file-text'), element('span', { text: name })];
  const address = `/attachments/${encodeURIComponent(id)}?form=picture`;
  // Its size is known before it comes, so that nothing moves when it does.
  return [element('img', { class: 'message-picture', src: address, alt: name, loading: 'lazy', width, height })];
}

/** @type {import('./part_kinds.js').PartKind['create']} */
export function createFile(_part, { api }) {
  const node = element('div', { class: 'message-file', dir: 'auto' });
  let shown = null;
  return {
    node,
    update(part) {
      const { attachment_id: id, kind, name = '' } = part;
      if (shown === `${id}`) return;
      shown = `${id}`;
      if (!id) {
        // A file that another program had, and did not give along.
        node.replaceChildren(strings.parts.other(kind, name));
        return;
      }
      const label = strings.parts.openFile(name);
      const button = element('button', { type: 'button', class: `message-file-button is-${kind}`, 'aria-label': label, title: label }, ...faceOf(part));
      button.addEventListener('click', () => openFile(part, api));
      node.replaceChildren(button);
    },
  };
}
