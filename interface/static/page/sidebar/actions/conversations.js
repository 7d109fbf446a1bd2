/** What the sidebar's menus do to conversations: ask the server first, then show what came of it. */

import { formatAddress } from '../../core/address.js';
import { bring } from '../../core/api.js';
import { copyText } from '../../core/clipboard.js';
import { listedTitle } from '../../core/words/conversation_title.js';
import { newId } from '../../core/ids.js';
import { shellStrings } from '../../strings/en/shell.js';
import { sidebarStrings } from '../../strings/en/sidebar.js';
import { conversationNodeId } from '../tree_nodes_model.js';
import { attempt } from '../../ui/notices/attempts.js';
import { askText } from '../../ui/controls/dialog.js';
import { createMany } from './bulk.js';
import { showToast } from '../../ui/notices/toast.js';
import { askTags } from './tags.js';
import { changedTags, retag, tagChanges, tagsIn } from './tags_model.js';

const words = shellStrings.conversation;
/** As the list calls it; of what is gone, nothing is known. */
const titleIn = (store) => (id) => listedTitle(store.conversation(id) ?? {});
const FAILED = { failed: shellStrings.sidebar.actionFailed };

/** Copy a reference and say so; where it had to be shown for copying by hand, that is message enough. */
async function copy(reference) {
  if (await copyText(reference)) showToast(words.referenceCopied(reference), { kind: 'success' });
}

/** Tell what was done, with a way back. @returns {() => void} takes that away */
function offerUndo(message, onAction) {
  return showToast(message, { actionLabel: shellStrings.toast.undo, onAction });
}

/**
 * @typedef {object} Parts
 * @property {object} api
 * @property {import('../../core/store.js').Store} store
 * @property {object} events
 * @property {string} domain
 * @property {import('../tree_model.js').TreeModel} model
 * @property {{begin: (workspaceId: string) => void, beginTemporary: () => void, refresh: () => Promise<void>,
 *   fetch: (conversationId: string) => Promise<void>, drawn: () => Promise<void>,
 *   reload: (...workspaceIds: string[]) => Promise<void>, chosenWith: (conversationId: string) => string[]}} sidebar
 *   `drawn` resolves when what changed is shown; `reload` draws rows again, for when a drag has moved them
 */

/** What marks and places conversations, one or many: flags, pins, workspaces, archive, bin. @param {Parts} parts */
function createPlacing({ api, store, events, domain, model, sidebar }) {
  const changeMany = createMany(api, () => sidebar.refresh());
  const titleOf = titleIn(store);
  /** Conversations have other fields now: everybody hears of all of them at once. */
  const change = (ids, fields) => store.update(() => ids.forEach((id) => store.changeConversation(id, fields)));

  async function moveConversations(ids, workspaceId) {
    const homes = new Set(ids.map((id) => model.workspaceOf(id)));
    const moving = ids.filter((id) => model.workspaceOf(id) !== workspaceId);
    await changeMany(moving, 'move', { value: workspaceId, apply: (done) => change(done, { workspace_id: workspaceId }) });
    // A drag has moved their rows already: where nothing came of it, they have to go back.
    if (moving.some((id) => model.workspaceOf(id) !== workspaceId)) await sidebar.reload(workspaceId, ...homes);
  }

  async function putAway(done) {
    const message = done.length === 1 ? words.archived(titleOf(done[0])) : words.archivedMany(done.length);
    change(done, { archived: true });
    await sidebar.drawn();
    offerUndo(message, () => archive(done, false));
  }

  /** Conversations are in the tree again, and the focus with them where nothing else has it. */
  async function broughtBack(ids) {
    if (ids.every((id) => store.conversation(id))) await sidebar.drawn();
    else await sidebar.refresh();
    if (document.activeElement !== document.body) return;
    document.getElementById(`${conversationNodeId(ids[0])}_anchor`)?.focus({ preventScroll: true });
  }

  async function takenBack(done) {
    showToast(done.length === 1 ? words.unarchived(titleOf(done[0])) : words.restored, { kind: 'success' });
    change(done, { archived: false });
    await broughtBack(done);
  }

  function archive(ids, archived) {
    return archived
      ? changeMany(ids, 'archive', { apply: putAway })
      : changeMany(ids, 'unarchive', { apply: takenBack });
  }

  /** The one that is open is left before anybody is told that it is gone. */
  async function remove(ids) {
    const known = new Map(ids.map((id) => [id, store.conversation(id)]));
    const open = ids.find((id) => id === store.openId);
    const thrownAway = async (done) => {
      const message = done.length === 1 ? words.deleted(listedTitle(known.get(done[0]) ?? {})) : words.deletedMany(done.length);
      if (done.includes(store.openId)) events.emit('conversation:open', { conversationId: null });
      store.update(() => done.forEach((id) => store.removeConversation(id)));
      await sidebar.drawn();
      offerUndo(message, () => changeMany(done, 'restore', { apply: (back) => restored(back, { known, open }) }));
    };
    await store.removing(ids, () => changeMany(ids, 'delete', { apply: thrownAway }));
  }

  /** `open`: which of them was the open one; nobody who has turned elsewhere since is called back. */
  async function restored(done, { known, open }) {
    showToast(words.restored, { kind: 'success' });
    store.update(() => done.forEach((id) => known.get(id) && store.putConversation(known.get(id))));
    await broughtBack(done);
    if (done.includes(open) && store.openId === null) events.emit('conversation:open', { conversationId: open });
  }

  /** Changes tags, and offers the way back of all that was done, also after another try; of a way back, none is offered. */
  function changeTags(changes, { isBack = false } = {}) {
    let takeAway = () => {};
    return retag(changes, {
      find: (id) => store.conversation(id),
      change: (each, how) => changeMany(each.ids, each.change, { value: each.tag, gone: sidebarStrings.tags.full, ...how }),
      apply: (each, done) => store.update(() => done.forEach((id) => {
        if (store.conversation(id)) store.changeConversation(id, { tags: changedTags(store.conversation(id), each) });
      })),
      onEnd(back) {
        const changed = new Set(back.flatMap(({ ids }) => ids)).size;
        if (isBack || !changed) return;
        takeAway();
        takeAway = offerUndo(sidebarStrings.tags.done(changed), () => changeTags(back, { isBack: true }));
      },
    });
  }

  async function tagMany(ids) {
    const known = () => ids.map((id) => store.conversation(id)).filter(Boolean);
    const wanted = await attempt(() => askTags(known(), () => api.listTags(domain)), FAILED);
    // As they are by now: another tab may have changed some.
    if (wanted !== null) await changeTags(tagChanges(known(), wanted));
  }

  return {
    moveConversations,
    archive,
    tagMany,
    flag: (ids, flag) => changeMany(ids, 'flag', { value: flag, apply: (done) => change(done, { flag }) }),
    pin: (ids, pinned) => changeMany(ids, pinned ? 'pin' : 'unpin', { apply: (done) => change(done, { pinned }) }),
    remove,
  };
}

/** @param {Parts} parts */
export function createConversationActions({ api, store, events, domain, model, sidebar }) {
  const titleOf = titleIn(store);

  async function rename(id) {
    const value = store.conversation(id)?.title ?? '';
    const title = await askText({ title: words.renameTitle, label: words.renameLabel, value, maxLength: 500 });
    if (title === null || (await attempt(() => api.setConversationTitle(id, title), FAILED)) === null) return;
    store.changeConversation(id, { title });
  }

  async function editTags(id) {
    const before = store.conversation(id)?.tags ?? [];
    const written = await askText({
      title: words.tagsTitle(titleOf(id)), label: words.tagsLabel, value: before.join(', '), maxLength: 1000, mayBeEmpty: true,
    });
    if (written === null) return;
    const changed = await attempt(() => api.setTags(id, tagsIn(written)), FAILED);
    if (changed !== null) store.changeConversation(id, { tags: changed.tags });
  }

  /** Take in a copy that was just made, and turn to it. */
  async function showCopy({ conversation_id: conversationId }, message) {
    if ((await attempt(() => sidebar.fetch(conversationId).then(() => true), FAILED)) === null) return;
    events.emit('conversation:open', { conversationId });
    showToast(message, { kind: 'success' });
  }

  async function clone(id) {
    const clientId = newId();
    const made = await attempt(() => api.cloneConversation(id, clientId), FAILED);
    if (made !== null) await showCopy(made, words.cloned(titleOf(id)));
  }

  async function fork(id) {
    const { conversation_friendly_id: friendlyId } = store.conversation(id) ?? {};
    const ask = async () => (await bring(() => import('../../conversation/fork/dialog.js'))).askForkPoint({ api, conversationId: id, friendlyId, title: titleOf(id) });
    const point = await attempt(ask, FAILED);
    if (!point || point.messageId === undefined) return;
    const clientId = newId();
    const make = () => (point.messageId ? api.forkConversation(id, point.messageId, clientId) : api.cloneConversation(id, clientId));
    const made = await attempt(make, FAILED);
    if (made !== null) await showCopy(made, sidebarStrings.fork.done(titleOf(id)));
  }

  async function setStateless(id, on) {
    const job = async () => (await bring(() => import('../../conversation/stateless_api.js'))).setStateless(api, id, on);
    if ((await attempt(job, FAILED)) === null) return;
    store.changeConversation(id, { stateless: on });
    showToast(on ? sidebarStrings.stateless.on : sidebarStrings.stateless.off, { kind: 'success' });
  }

  async function share(id) {
    const open = async () => (await bring(() => import('../../conversation/sharing/dialog.js'))).openShareDialog({ api, conversationId: id, title: titleOf(id) });
    await attempt(open, FAILED);
  }

  async function exportAs(id, format) {
    const save = async () => (await bring(() => import('../../conversation/export/export.js'))).exportConversation({ conversationId: id, format, api });
    await attempt(save, FAILED);
  }

  return {
    copy,
    newConversation: sidebar.begin,
    newTemporary: sidebar.beginTemporary,
    openBeside: (id) => events.emit('conversation:beside', { conversationId: id }),
    openWindow: (id) => window.open(formatAddress(id), '_blank', 'noopener'),
    rename,
    editTags,
    clone,
    fork,
    setStateless,
    share,
    exportAs,
    ...createPlacing({ api, store, events, domain, model, sidebar }),
  };
}
