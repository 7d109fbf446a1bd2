import { bring } from '../../core/api.js';
import { permalink } from '../../core/address.js';
import { copyText } from '../../core/clipboard.js';
import { newId } from '../../core/ids.js';
import { shellStrings } from '../../strings/en/shell.js';
import { messageActionStrings } from '../../strings/en/message_actions.js';
import { strings } from '../../strings/en/conversation.js';
import { attempt, tellFailure } from '../../ui/notices/attempts.js';
import { showToast } from '../../ui/notices/toast.js';

async function copyAndTell(text, said) {
  if (await copyText(text)) showToast(said, { kind: 'success' });
}

/**
 * The messages of one conversation, the one that is shown when something is begun with them; it may be left before that is done.
 *
 * @param {object} page
 * @param {string} conversationId
 */
function createPlace(page, conversationId) {
  const isHere = () => page.conversationId() === conversationId;

  /** @returns {Promise<object|undefined>} the message as the server has it now */
  async function look({ message_id: messageId }) {
    if (isHere()) {
      await page.refresh();
      return page.find(messageId) ?? undefined;
    }
    const around = await page.api.listMessages(conversationId, { around: messageId, limit: 1 });
    return around.find((message) => message.message_id === messageId);
  }

  /** Does a change with the message's place as it is now; where that has shifted meanwhile, once more with the new one. */
  async function change(message, job) {
    const known = page.find(message.message_id) ?? message;
    try {
      return await job(known);
    } catch (error) {
      if (error.status !== 409) throw error;
      const again = await look(message);
      if (!again || again.message_index === known.message_index) throw error;
      return job(again);
    }
  }

  /** Shows what was changed. */
  async function changed() {
    if (isHere()) await page.reload();
  }

  return { isHere, look, change, changed };
}

/** What is done with messages of `conversationId`, however late it is tried again. */
function actionsIn(page, conversationId) {
  const { api } = page;
  const place = createPlace(page, conversationId);

  /** A change that needs nothing but the message's place. @returns {Promise<boolean>} whether it was made */
  async function changeOne(message, job, failed) {
    const done = await attempt(() => place.change(message, job), { failed });
    if (done) await place.changed();
    return Boolean(done);
  }

  /** `tried`: an earlier try may have got there, and only its answer was lost. */
  async function removeOne(message, { tried }) {
    try {
      await place.change(message, ({ message_id: id, message_index: index }) => api.deleteMessage(conversationId, id, index));
    } catch (error) {
      if (error.code !== 'message_not_found' || !tried.has(message.message_id)) throw error;
    }
    page.transcript().card(message.message_id)?.stopEditing();
    page.edits.drop(message.message_id);
    page.onSelect(message, false);
  }

  /** From the last on, so that the places of the others hold. @returns {Promise<string[]>} ids of those that are gone */
  async function removeFromTheLastOn(messages, tried) {
    const left = [...messages];
    const gone = [];
    try {
      for (; left.length > 0; gone.push(left.pop().message_id)) await removeOne(left.at(-1), { tried });
    } catch (error) {
      const again = new Set([...tried, left.at(-1).message_id]);
      tellFailure(error, { failed: messageActionStrings.remove.failed, again: () => remove(left, again) });
    }
    return gone;
  }

  async function remove(messages, tried = new Set()) {
    const gone = await removeFromTheLastOn(messages, tried);
    await place.changed();
    if (gone.length === 0) return;
    if (place.isHere()) page.transcript().takeFocus();
    showToast(messageActionStrings.remove.done(gone.length), { actionLabel: shellStrings.toast.undo, onAction: () => restore(gone) });
  }

  async function restore(messageIds) {
    const left = [...messageIds];
    const job = async () => {
      for (; left.length > 0; left.shift()) await api.restoreMessage(conversationId, left[0]);
    };
    await attempt(job, { failed: messageActionStrings.remove.restoreFailed, again: () => restore(left) });
    await place.changed();
  }

  function showOrHide(message, how) {
    const job = ({ message_id: id, message_index: index }) => api.showOrHideMessage(conversationId, id, index, how);
    return changeOne(message, job, strings.hidden.failed);
  }

  const pin = (message) => changeOne(message, ({ message_id: id }) => api.pinMessage(id), strings.pins.failed);
  const unpin = (message) => changeOne(message, ({ message_id: id }) => api.unpinMessage(id), strings.pins.failed);

  async function chooseVariant(message, number) {
    const done = await changeOne(message, ({ message_id: id }) => api.chooseVariant(id, number), strings.variants.failed);
    // The switch showed at once what was asked for.
    if (!done) page.transcript().card(message.message_id)?.update(page.find(message.message_id));
  }

  /** @param {'regenerate'|'continueAnswer'} how */
  async function remake(message, how, id = newId()) {
    try {
      await page.turns().remake(message, conversationId, how, id);
    } catch (error) {
      // Who has left the conversation since finds it there.
      if (error.name === 'AbortError') return;
      tellFailure(error, { failed: strings.variants.regenerateFailed, again: () => remake(message, how, id) });
      // It may have begun, and only the word of it was lost: then it is watched.
      if (place.isHere()) await page.refresh();
    }
  }

  /** From now on the outbox has the question: it is asked as soon as the server can be reached. */
  function askInstead(message, text) {
    page.ask({ conversationId, text, insteadOf: message.message_id }, page.edits.removal(message.message_id, text));
    return 'saved';
  }

  async function chooseBranch(message, number) {
    const done = await attempt(() => api.chooseBranch(message.message_id, number), { failed: strings.branches.failed });
    // The switch showed at once what was asked for.
    const shown = page.find(message.message_id);
    if (!done && shown) page.transcript().card(message.message_id)?.update(shown);
    if (done) await place.changed();
  }

  async function fork(message, id = newId()) {
    const settle = showToast(messageActionStrings.fork.running);
    try {
      const made = await api.forkConversation(conversationId, message.message_id, id);
      page.events.emit('conversation:created', { conversationId: made.conversation_id });
      await page.goTo({ conversation_id: made.conversation_id });
      showToast(messageActionStrings.fork.done, { kind: 'success' });
    } catch (error) {
      tellFailure(error, { failed: messageActionStrings.fork.failed, again: () => fork(message, id) });
    } finally {
      settle();
    }
  }

  const placesOf = (messages) => messages.map((message) => message?.message_index);

  async function move(messageIds, direction, before = placesOf(messageIds.map(page.find))) {
    const again = async () => {
      const now = await attempt(() => Promise.all(messageIds.map((id) => place.look({ message_id: id }))), { failed: strings.move.failed });
      // Where the messages stand elsewhere by now the first try got there: a second one would move them twice.
      if (now && String(placesOf(now)) === String(before)) await move(messageIds, direction, before);
    };
    const job = () => api.moveMessages(conversationId, messageIds, direction);
    if (await attempt(job, { failed: strings.move.failed, again })) {
      await place.changed();
      if (place.isHere() && String(placesOf(messageIds.map(page.find))) === String(before)) showToast(strings.move.stays);
    } else if (place.isHere()) await page.refresh();
  }

  return {
    pin,
    unpin,
    chooseVariant,
    chooseBranch,
    askInstead,
    regenerate: (message) => remake(message, 'regenerate'),
    continueAnswer: (message) => remake(message, 'continueAnswer'),
    fork,
    saveEdit: createSaving(page, conversationId, place),
    hide: (message) => showOrHide(message, 'hide'),
    show: (message) => showOrHide(message, 'show'),
    moveUp: (message) => move([message.message_id], 'up'),
    moveDown: (message) => move([message.message_id], 'down'),
    delete: (message) => remove([message]),
    move,
    remove,
  };
}

/** How a message takes the text that was typed into it: at once, or after what happened to it elsewhere was told. */
function createSaving(page, conversationId, place) {
  const { api } = page;
  const troubles = { conflict: 'changed', message_not_found: 'gone' };

  async function store(message, { text, basedOn, isGone }) {
    if (isGone) await api.restoreMessage(conversationId, message.message_id);
    const known = isGone ? await place.look(message) : message;
    try {
      await place.change(known ?? message, ({ message_id: id, message_index: index }) => api.editMessage(conversationId, id, index, text, basedOn));
      return 'saved';
    } catch (error) {
      if (!(error.code in troubles)) throw error;
      return troubles[error.code];
    }
  }

  /** What is typed by now, wherever the person is. */
  async function saveKept(message) {
    const card = page.transcript().card(message.message_id);
    const kept = page.edits.get(message.message_id);
    if (card?.isEditing) await card.saveEdit();
    else if (kept && ['changed', 'gone'].includes(await save(message, kept))) showToast(strings.edit.elsewhere, { kind: 'error' });
  }

  async function save(message, edit) {
    const outcome = await attempt(() => store(message, edit), { failed: strings.edit.failed, again: () => saveKept(message) });
    if (outcome === 'saved') {
      page.edits.drop(message.message_id, edit.text);
      await place.changed();
    } else if (outcome && place.isHere()) await page.refresh();
    return outcome ?? 'failed';
  }

  return save;
}

/**
 * What the menu of a message does, and the bar of those that are selected. What fails is said, and can be tried again, also
 * when another conversation is shown by then.
 *
 * @param {object} page
 * @returns {{act: (name: string, message: object, detail?: any) => any, move: (messageIds: string[], direction: 'up'|'down') => Promise<void>,
 *            remove: (messages: object[]) => Promise<void>}} `remove` takes them in order, and can be undone
 */
export function createMessageActions(page) {
  const here = () => actionsIn(page, page.conversationId());

  function copyPermalink(message) {
    const friendlyId = page.friendlyId();
    if (!friendlyId) return showToast(strings.badge.tooEarly);
    return copyAndTell(permalink(location.origin, friendlyId, message.message_short_hash || message.message_index), strings.copy.permalink);
  }

  const actions = {
    copyId: (message) => copyAndTell(`#${message.short_id}`, strings.copy.done(`#${message.short_id}`)),
    copyPermalink,
    copyText: (message) => copyAndTell(message.text, strings.copy.copied),
    readAloud: async ({ text }) => (await bring(() => import('../card/content/read_aloud.js'))).readAloud(text),
    reply: (message) => page.replyTo(message),
    remember: ({ message_id: messageId }) => page.events.emit('memory:propose', { conversation_id: page.conversationId(), message_id: messageId }),
    select: (message) => page.onSelect(message, true),
    edit: (message) => page.transcript().card(message.message_id)?.edit(),
  };

  return {
    act: (name, message, detail) => (actions[name] ?? here()[name])(message, detail),
    move: (messageIds, direction) => here().move(messageIds, direction),
    remove: (messages) => here().remove(messages),
  };
}
