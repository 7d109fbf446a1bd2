import { permalink } from '../lib/address.js';
import { copyText } from '../lib/clipboard.js';
import { shellStrings } from '../lib/shell_strings.js';
import { strings } from '../lib/strings.js';
import { attempt, tellFailure } from './attempts.js';
import { showToast } from './toast.js';

async function copyAndTell(text, said) {
  if (await copyText(text)) showToast(said, { kind: 'success' });
}

/**
 * What the menu of a message does, and the bar of those that are selected. What fails is said, and can be tried again.
 *
 * @param {object} page
 * @returns {{act: (name: string, message: object, detail?: any) => void, move: (messageIds: string[], direction: 'up'|'down') => Promise<void>,
 *            remove: (messages: object[]) => Promise<void>}} `remove` takes them in order, and can be undone
 */
export function createMessageActions(page) {
  /** Does a change with the message's place as it is now; where that has shifted meanwhile, once more with the new one. */
  async function inPlace(message, job) {
    const { conversationId } = page.conversation();
    const known = page.find(message.message_id) ?? message;
    try {
      return await job(conversationId, known);
    } catch (error) {
      if (error.status !== 409) throw error;
      await page.refresh();
      const again = page.find(message.message_id);
      if (!again || again.message_index === known.message_index) throw error;
      return job(conversationId, again);
    }
  }

  async function changed() {
    page.changed();
    await page.reload();
  }

  /** A change that needs nothing but the message's place. @returns {Promise<boolean>} whether it was made */
  async function changeOne(message, job, failed) {
    const done = await attempt(() => inPlace(message, job), { failed });
    if (done) await changed();
    return Boolean(done);
  }

  async function removeOne(message) {
    try {
      await inPlace(message, (id, { message_id: messageId, message_index: index }) => page.api.deleteMessage(id, messageId, index));
    } catch (error) {
      // An earlier try may have got there, and only its answer was lost.
      if (error.code !== 'message_not_found') throw error;
    }
    page.onSelect(message, false);
  }

  /** From the last on, so that the places of the others hold. @returns {Promise<string[]>} ids of those that are gone */
  async function removeFromTheLastOn(messages) {
    const left = [...messages];
    const gone = [];
    try {
      for (; left.length > 0; gone.push(left.pop().message_id)) await removeOne(left.at(-1));
    } catch (error) {
      tellFailure(error, { failed: strings.remove.failed, again: () => remove(left) });
    }
    return gone;
  }

  async function remove(messages) {
    const { conversationId } = page.conversation();
    const gone = await removeFromTheLastOn(messages);
    await changed();
    if (gone.length === 0) return;
    page.transcript().takeFocus();
    const undo = () => restore(conversationId, gone);
    showToast(strings.remove.done(gone.length), { actionLabel: shellStrings.toast.undo, onAction: undo });
  }

  async function restore(conversationId, messageIds) {
    const left = [...messageIds];
    const job = async () => {
      for (; left.length > 0; left.shift()) await page.api.restoreMessage(conversationId, left[0]);
    };
    await attempt(job, { failed: strings.remove.restoreFailed, again: () => restore(conversationId, left) });
    await changed();
  }

  function showOrHide(message, how) {
    const job = (id, { message_id: messageId, message_index: index }) => page.api.showOrHideMessage(id, messageId, index, how);
    return changeOne(message, job, strings.hidden.failed);
  }

  const pin = (message) => changeOne(message, (_, { message_id: id }) => page.api.pinMessage(id), strings.pins.failed);
  const unpin = (message) => changeOne(message, (_, { message_id: id }) => page.api.unpinMessage(id), strings.pins.failed);

  async function chooseVariant(message, number) {
    const job = (_, { message_id: id }) => page.api.chooseVariant(id, number);
    const done = await changeOne(message, job, strings.variants.failed);
    // The switch showed at once what was asked for.
    if (!done) page.transcript().card(message.message_id)?.update(page.find(message.message_id));
  }

  async function regenerate(message) {
    try {
      await page.regenerate(message);
      page.changed();
    } catch (error) {
      // Who has left the conversation since finds it there.
      if (error.name === 'AbortError') return;
      tellFailure(error, { failed: strings.variants.regenerateFailed, again: () => regenerate(message) });
      // It may have begun, and only the word of it was lost: then it is watched.
      await page.refresh();
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
      tellFailure(error, { failed: strings.fork.failed, again: () => fork(message), creates: true });
    } finally {
      settle();
    }
  }

  function edit(message) {
    page.transcript().card(message.message_id)?.edit(async (text, again) => {
      const job = (conversationId, { message_id: id, message_index: index }) => page.api.editMessage(conversationId, id, index, text);
      const done = await attempt(() => inPlace(message, job), { failed: strings.edit.failed, again });
      if (done) await changed();
      return Boolean(done);
    });
  }

  const placesOf = (messageIds) => messageIds.map((id) => page.find(id)?.message_index);

  async function move(messageIds, direction) {
    const { conversationId } = page.conversation();
    const before = placesOf(messageIds);
    const again = async () => {
      await page.reload();
      // Where the messages stand elsewhere by now the first try got there: a second one would move them twice.
      if (String(placesOf(messageIds)) === String(before)) await move(messageIds, direction);
    };
    const job = () => page.api.moveMessages(conversationId, messageIds, direction);
    if (await attempt(job, { failed: strings.move.failed, again })) await changed();
    else await page.refresh();
  }

  function copyPermalink(message) {
    const friendlyId = page.friendlyId();
    if (!friendlyId) return showToast(strings.badge.tooEarly);
    return copyAndTell(permalink(location.origin, friendlyId, message.message_short_hash || message.message_index), strings.copy.permalink);
  }

  const actions = {
    copyId: (message) => copyAndTell(`#${message.short_id}`, strings.copy.done(`#${message.short_id}`)),
    copyPermalink,
    copyText: (message) => copyAndTell(message.text, strings.copy.copied),
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
