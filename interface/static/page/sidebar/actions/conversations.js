/** What the sidebar's menus do to conversations: ask the server first, then show what came of it. */

import { formatAddress } from '../../core/address.js';
import { bring } from '../../core/api.js';
import { copyText } from '../../core/clipboard.js';
import { shellStrings } from '../../strings/en/shell.js';
import { sidebarStrings } from '../../strings/en/sidebar.js';
import { conversationNodeId, shownTitle } from '../tree_nodes_model.js';
import { attempt } from '../../ui/attempts.js';
import { askText } from '../../ui/dialog.js';
import { createMany } from './bulk.js';
import { showToast } from '../../ui/toast.js';

const words = shellStrings.conversation;
const FAILED = { failed: shellStrings.sidebar.actionFailed };
/** Of what makes something new: done twice, it makes two. */
const CREATES = { ...FAILED, creates: true };

/** Copy a reference and say so; where it had to be shown for copying by hand, that is message enough. */
async function copy(reference) {
  if (await copyText(reference)) showToast(words.referenceCopied(reference), { kind: 'success' });
}

/** Tell what was done, with a way back. */
function offerUndo(message, onAction) {
  showToast(message, { actionLabel: shellStrings.toast.undo, onAction });
}

/**
 * @typedef {object} Parts
 * @property {object} api
 * @property {object} events
 * @property {import('../tree_model.js').TreeModel} model
 * @property {{wanted: () => string|null, begin: (workspaceId: string) => void, beginTemporary: () => void, add: (conversation: object) => Promise<void>,
 *   refresh: () => Promise<void>, reload: (...workspaceIds: string[]) => Promise<void>,
 *   redraw: (conversations: object[]) => void, find: (conversationId: string) => object|undefined,
 *   setAside: (conversation: object) => void, shelvesChanged: (...sections: string[]) => void}} sidebar
 *   `find` also finds what has no row in the tree, as the archived ones
 */

/** What marks and places conversations, one or many: flags, pins, workspaces, archive, bin. @param {Parts} parts */
function createPlacing({ api, events, model, sidebar }) {
  const changeMany = createMany(api, () => sidebar.refresh());
  const titleOf = (id) => shownTitle(sidebar.find(id)?.title);

  /** Change the marks of conversations that stay where they are. */
  function mark(ids, change, { value, marks }) {
    const apply = (done) => {
      sidebar.redraw(done.map((id) => sidebar.find(id)).filter(Boolean).map((each) => Object.assign(each, marks)));
    };
    return changeMany(ids, change, { value, apply });
  }

  /** Show that conversations left the tree or came to another place in it; `job` does that to the model. */
  async function rearrange(ids, job, ...more) {
    const touched = new Set([...ids.map((id) => model.workspaceOf(id)), ...more]);
    ids.forEach(job);
    // The tree knows a row by its id: it has to leave its old place before it can appear in the new one.
    await sidebar.reload(...[...touched].filter((workspaceId) => workspaceId !== undefined));
  }

  async function moveConversations(ids, workspaceId) {
    const homes = new Map(ids.map((id) => [id, model.workspaceOf(id)]));
    const moving = ids.filter((id) => homes.get(id) !== workspaceId);
    const move = (id) => model.moveConversation(id, workspaceId);
    // A drag has moved their rows already: where nothing came of it, they have to go back.
    const settle = () => sidebar.reload(workspaceId, ...new Set(homes.values()));
    await changeMany(moving, 'move', { value: workspaceId, apply: (done) => rearrange(done, move, workspaceId) });
    if (moving.some((id) => model.workspaceOf(id) !== workspaceId)) await settle();
  }

  async function putAway(done) {
    const conversations = done.map((id) => sidebar.find(id)).filter(Boolean);
    const message = done.length === 1 ? words.archived(titleOf(done[0])) : words.archivedMany(done.length);
    await rearrange(done, (id) => model.removeConversation(id));
    for (const conversation of conversations) sidebar.setAside({ ...conversation, archived: true });
    sidebar.shelvesChanged('archived');
    offerUndo(message, () => archive(done, false));
  }

  /** Conversations are in the tree again, and the focus with them where nothing else has it. */
  async function broughtBack([first]) {
    await sidebar.refresh();
    if (document.activeElement !== document.body) return;
    document.getElementById(`${conversationNodeId(first)}_anchor`)?.focus({ preventScroll: true });
  }

  async function takenBack(done) {
    showToast(done.length === 1 ? words.unarchived(titleOf(done[0])) : words.restored, { kind: 'success' });
    await broughtBack(done);
    sidebar.shelvesChanged('archived');
  }

  function archive(ids, archived) {
    return archived
      ? changeMany(ids, 'archive', { apply: putAway })
      : changeMany(ids, 'unarchive', { apply: takenBack });
  }

  async function thrownAway(done) {
    const message = done.length === 1 ? words.deleted(titleOf(done[0])) : words.deletedMany(done.length);
    const open = done.find((id) => id === sidebar.wanted());
    await rearrange(done, (id) => model.removeConversation(id));
    for (const conversationId of done) events.emit('conversation:deleted', { conversationId });
    sidebar.shelvesChanged('archived', 'bin');
    offerUndo(message, () => changeMany(done, 'restore', { apply: (back) => restored(back, open) }));
  }

  /** `open`: which of them was the open one; nobody who has turned elsewhere since is called back. */
  async function restored(done, open) {
    showToast(words.restored, { kind: 'success' });
    await broughtBack(done);
    sidebar.shelvesChanged('archived', 'bin');
    if (done.includes(open) && sidebar.wanted() === null) events.emit('conversation:open', { conversationId: open });
  }

  return {
    moveConversations,
    archive,
    flag: (ids, flag) => mark(ids, 'flag', { value: flag, marks: { flag } }),
    pin: (ids, pinned) => mark(ids, pinned ? 'pin' : 'unpin', { marks: { pinned } }),
    remove: (ids) => changeMany(ids, 'delete', { apply: thrownAway }),
  };
}

/** @param {Parts} parts */
export function createConversationActions({ api, events, model, sidebar }) {
  const titleOf = (id) => shownTitle(sidebar.find(id)?.title);

  async function rename(id) {
    const value = sidebar.find(id)?.title ?? '';
    const title = await askText({ title: words.renameTitle, label: words.renameLabel, value, maxLength: 500 });
    if (title === null || (await attempt(() => api.setConversationTitle(id, title), FAILED)) === null) return;
    events.emit('conversation:updated', { conversationId: id, title });
  }

  async function editTags(id) {
    const before = sidebar.find(id)?.tags ?? [];
    const written = await askText({
      title: words.tagsTitle(titleOf(id)), label: words.tagsLabel, value: before.join(', '), maxLength: 1000, mayBeEmpty: true,
    });
    if (written === null) return;
    const wanted = written.split(',').map((tag) => tag.trim().replace(/^#/, '')).filter(Boolean);
    const changed = await attempt(() => api.setTags(id, wanted), FAILED);
    if (changed !== null) events.emit('conversation:updated', { conversationId: id, tags: changed.tags });
  }

  /** Take in a copy that was just made, and turn to it. */
  async function showCopy({ conversation_id: conversationId }, message) {
    const details = await attempt(() => api.getConversationDetails(conversationId), FAILED);
    if (details === null) return;
    await sidebar.add(details);
    events.emit('conversation:created', { conversationId });
    events.emit('conversation:open', { conversationId });
    showToast(message, { kind: 'success' });
  }

  async function clone(id) {
    const made = await attempt(() => api.cloneConversation(id), CREATES);
    if (made !== null) await showCopy(made, words.cloned(titleOf(id)));
  }

  async function fork(id) {
    const { conversation_friendly_id: friendlyId } = sidebar.find(id) ?? {};
    const ask = async () => (await bring(() => import('../../conversation/fork/dialog.js'))).askForkPoint({ api, conversationId: id, friendlyId, title: titleOf(id) });
    const point = await attempt(ask, FAILED);
    if (!point || point.messageId === undefined) return;
    const make = () => (point.messageId ? api.forkConversation(id, point.messageId) : api.cloneConversation(id));
    const made = await attempt(make, CREATES);
    if (made !== null) await showCopy(made, sidebarStrings.fork.done(titleOf(id)));
  }

  async function setStateless(id, on) {
    const job = async () => (await bring(() => import('../../conversation/stateless_api.js'))).setStateless(api, id, on);
    if ((await attempt(job, FAILED)) === null) return;
    events.emit('conversation:updated', { conversationId: id, stateless: on });
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
    openWindow: (id) => window.open(formatAddress(id), '_blank', 'noopener'),
    rename,
    editTags,
    clone,
    fork,
    setStateless,
    share,
    exportAs,
    ...createPlacing({ api, events, model, sidebar }),
  };
}
