import { permalink } from '../lib/address.js';
import { copyText } from '../lib/clipboard.js';
import { strings } from '../lib/strings.js';
import { confirmAction } from './dialogs.js';
import { showToast } from './toast.js';

async function copyAndTell(text, said) {
  if (await copyText(text)) showToast(said, { kind: 'success' });
}

/**
 * What the menu of a message does, and the bar of those that are selected.
 *
 * @param {object} page
 * @returns {{act: (name: string, message: object) => void, move: (messageIds: string[], direction: 'up'|'down') => Promise<void>,
 *            remove: (messages: object[]) => Promise<void>}} `remove` takes them in order, and asks first
 */
export function createMessageActions(page) {
  /** Runs a change with the message's place as it is now; where that has shifted meanwhile, once more with the new one. */
  async function attempt(message, job, failed) {
    const { conversationId } = page.conversation();
    try {
      await job(conversationId, message);
    } catch (error) {
      if (error.status !== 409) return tell(failed, error);
      await page.refresh();
      const again = page.find(message.message_id);
      if (!again || again.message_index === message.message_index) return tell(failed, error);
      try {
        await job(conversationId, again);
      } catch (second) {
        return tell(failed, second);
      }
    }
    return true;
  }

  async function changed() {
    page.changed();
    await page.refresh();
  }

  function tell(failed, error) {
    showToast(failed(error.message), { kind: 'error' });
    return false;
  }

  async function remove(messages) {
    const { title, text, confirm, failed } = strings.remove;
    const { length } = messages;
    if (!(await confirmAction({ title: title(length), text: text(length), confirmLabel: confirm }))) return;
    const job = (conversationId, { message_id: id, message_index: index }) => page.api.deleteMessage(conversationId, id, index);
    // From the last on, so that the places of the others hold.
    for (const message of [...messages].reverse()) {
      if (!(await attempt(message, job, failed))) break;
      page.onSelect(message, false);
    }
    await changed();
  }

  function edit(message) {
    const job = (text) => (conversationId, { message_id: id, message_index: index }) =>
      page.api.editMessage(conversationId, id, index, text);
    page.transcript().card(message.message_id)?.edit(async (text) => {
      const done = await attempt(message, job(text), strings.edit.failed);
      if (done) await changed();
      return done;
    });
  }

  async function move(messageIds, direction) {
    const { conversationId } = page.conversation();
    try {
      await page.api.moveMessages(conversationId, messageIds, direction);
    } catch (error) {
      tell(strings.move.failed, error);
    }
    await changed();
  }

  function copyPermalink(message) {
    const friendlyId = page.friendlyId();
    if (!friendlyId) return showToast(strings.badge.tooEarly);
    return copyAndTell(permalink(location.origin, friendlyId, message.message_short_hash || message.message_index), strings.copy.permalink);
  }

  const actions = {
    copyId: (message) => copyAndTell(`#${message.short_id}`, strings.copy.done(`#${message.short_id}`)),
    copyPermalink,
    reply: (message) => page.replyTo(message),
    remember: ({ message_id: messageId }) =>
      page.events.emit('memory:propose', { conversation_id: page.conversation().conversationId, message_id: messageId }),
    edit,
    moveUp: (message) => move([message.message_id], 'up'),
    moveDown: (message) => move([message.message_id], 'down'),
    delete: (message) => remove([message]),
  };

  return { act: (name, message) => actions[name](message), move, remove };
}
