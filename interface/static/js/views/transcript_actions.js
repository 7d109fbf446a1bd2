import { permalink } from '../lib/address.js';
import { copyText } from '../lib/clipboard.js';
import { shellStrings } from '../lib/shell_strings.js';
import { strings } from '../lib/strings.js';
import { showToast } from './toast.js';

async function copyAndTell(text, said) {
  if (await copyText(text)) showToast(said, { kind: 'success' });
}

/**
 * What the menu of a message does, and the bar of those that are selected.
 *
 * @param {object} page
 * @returns {{act: (name: string, message: object, detail?: any) => void, move: (messageIds: string[], direction: 'up'|'down') => Promise<void>,
 *            remove: (messages: object[]) => Promise<void>}} `remove` takes them in order, and can be undone
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
    const { conversationId } = page.conversation();
    const job = (id, message) => page.api.deleteMessage(id, message.message_id, message.message_index);
    const gone = [];
    // From the last on, so that the places of the others hold.
    for (const message of [...messages].reverse()) {
      if (!(await attempt(message, job, strings.remove.failed))) break;
      gone.push(message.message_id);
      page.onSelect(message, false);
    }
    await changed();
    if (gone.length === 0) return;
    page.transcript().takeFocus();
    const undo = () => restore(conversationId, gone);
    showToast(strings.remove.done(gone.length), { actionLabel: shellStrings.toast.undo, onAction: undo });
  }

  async function restore(conversationId, messageIds) {
    try {
      for (const messageId of messageIds) await page.api.restoreMessage(conversationId, messageId);
    } catch (error) {
      tell(strings.remove.restoreFailed, error);
    }
    await changed();
  }

  /** A change that needs nothing but the message's place. */
  async function changeOne(message, job, failed) {
    if (await attempt(message, job, failed)) await changed();
  }

  function showOrHide(message, how) {
    const job = (id, { message_id: messageId, message_index: index }) => page.api.showOrHideMessage(id, messageId, index, how);
    return changeOne(message, job, strings.hidden.failed);
  }

  const pin = (message) => changeOne(message, (_, { message_id: id }) => page.api.pinMessage(id), strings.pins.failed);
  const unpin = (message) => changeOne(message, (_, { message_id: id }) => page.api.unpinMessage(id), strings.pins.failed);
  const chooseVariant = (message, number) =>
    changeOne(message, (_, { message_id: id }) => page.api.chooseVariant(id, number), strings.variants.failed);

  async function regenerate(message) {
    try {
      await page.regenerate(message);
      page.changed();
    } catch (error) {
      // Who has left the conversation since finds it there.
      if (error.name !== 'AbortError') tell(strings.variants.regenerateFailed, error);
    }
  }

  async function fork(message) {
    const settle = showToast(strings.fork.running);
    try {
      const made = await page.api.forkConversation(page.conversation().conversationId, message.message_id);
      page.events.emit('conversation:created', { conversationId: made.conversation_id });
      await page.goTo({ conversation_id: made.conversation_id });
      showToast(strings.fork.done, { kind: 'success' });
    } catch (error) {
      tell(strings.fork.failed, error);
    } finally {
      settle();
    }
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
    pin,
    unpin,
    chooseVariant,
    regenerate,
    fork,
    hide: (message) => showOrHide(message, 'hide'),
    show: (message) => showOrHide(message, 'show'),
    moveUp: (message) => move([message.message_id], 'up'),
    moveDown: (message) => move([message.message_id], 'down'),
    delete: (message) => remove([message]),
  };

  return { act: (name, message, detail) => actions[name](message, detail), move, remove };
}
