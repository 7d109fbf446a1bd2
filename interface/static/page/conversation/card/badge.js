import { permalink } from '../../core/address.js';
import { copyText } from '../../core/clipboard.js';
import { strings } from '../../strings/en/conversation.js';
import { badgeText, messageReference } from '../message_model.js';
import { copyAndSay, setLabel } from '../../ui/copy_fallbacks.js';
import { element } from '../../ui/dom.js';
import { showToast } from '../../ui/notices/toast.js';

let badges = 0;

/**
 * The badge `#5 · a3f2b1`, a click on which copies the message's reference, and with Shift its permalink.
 *
 * @param {{friendlyId: () => string}} context friendly id of the conversation, '' while it has none
 */
export function createBadge({ friendlyId }) {
  badges += 1;
  const described = element('span', { class: 'visually-hidden', id: `badge-${badges}` });
  const node = element('button', {
    type: 'button', class: 'message-ref-badge', title: strings.badge.title, 'aria-describedby': described.id,
  });
  let shown = {};

  node.addEventListener('click', async (event) => {
    const id = friendlyId();
    if (!id) showToast(strings.badge.tooEarly);
    else if (!event.shiftKey) await copyAndSay(messageReference(id, shown), node, strings.badge.copied);
    else {
      const address = permalink(location.origin, id, shown.message_short_hash || shown.message_index);
      if (await copyText(address)) showToast(strings.copy.permalink, { kind: 'success' });
    }
  });

  function update(message) {
    shown = message;
    const { message_index: index, message_short_hash: hash } = message;
    node.dataset.msgIdx = index;
    if (hash) node.dataset.msgHash = hash;
    else delete node.dataset.msgHash;
    setLabel(node, badgeText(message));
    described.textContent = strings.badge.described(index, hash);
  }

  return { node, described, update };
}
