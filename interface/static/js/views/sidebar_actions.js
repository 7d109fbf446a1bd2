/** What the sidebar's menus do: ask the server first, then show what came of it. */

import { formatAddress } from '../lib/address.js';
import { copyText } from '../lib/clipboard.js';
import { shellStrings } from '../lib/shell_strings.js';
import { UNTITLED } from '../models/tree_nodes.js';
import { askText, confirmAction } from './dialogs.js';
import { showToast } from './toast.js';

/** Runs `job`; what it throws becomes a message on the page. @returns {Promise<boolean>} whether it succeeded */
async function orTell(job) {
  try {
    await job();
    return true;
  } catch (error) {
    showToast(shellStrings.sidebar.actionFailed(error.message), { kind: 'error' });
    return false;
  }
}

/** Copy a reference and say so; where it had to be shown for copying by hand, that is message enough. */
async function copy(reference) {
  if (await copyText(reference)) {
    showToast(shellStrings.conversation.referenceCopied(reference), { kind: 'success' });
  }
}

/**
 * @param {object} parts
 * @param {object} parts.api
 * @param {object} parts.events
 * @param {import('../models/tree.js').TreeModel} parts.model
 * @param {{begin: (workspaceId: string) => void, beginTemporary: () => void, add: (conversation: object) => Promise<void>,
 *          refresh: () => Promise<void>, reload: (workspaceId?: string) => Promise<void>,
 *          redraw: (conversation: object) => void, find: (conversationId: string) => object|undefined,
 *          setAside: (conversation: object) => void, shelvesChanged: (...sections: string[]) => void}} parts.sidebar
 *   `find` also finds what has no row in the tree, as the archived ones
 */
export function createConversationActions({ api, events, model, sidebar }) {
  const words = shellStrings.conversation;
  const titleOf = (id) => sidebar.find(id)?.title || UNTITLED;

  function change(id, changes) {
    const conversation = sidebar.find(id);
    if (conversation) sidebar.redraw(Object.assign(conversation, changes));
  }

  async function rename(id) {
    const title = await askText({ title: words.renameTitle, label: words.renameLabel, value: sidebar.find(id)?.title ?? '', maxLength: 500 });
    if (title === null) return;
    await orTell(async () => {
      await api.setConversationTitle(id, title);
      change(id, { title });
      events.emit('conversation:updated', { conversationId: id, title });
    });
  }

  async function clone(id) {
    await orTell(async () => {
      const { conversation_id: conversationId } = await api.cloneConversation(id);
      await sidebar.add(await api.getConversationDetails(conversationId));
      events.emit('conversation:created', { conversationId });
      events.emit('conversation:open', { conversationId });
      showToast(words.cloned(titleOf(id)), { kind: 'success' });
    });
  }

  async function moveConversations(ids, workspaceId) {
    const left = new Set(ids.map((id) => model.workspaceOf(id)));
    left.delete(workspaceId);
    await orTell(async () => {
      for (const id of ids) {
        await api.moveConversation(id, workspaceId);
        model.moveConversation(id, workspaceId);
      }
    });
    // The tree knows a row by its id: it has to leave its old place before it can appear in the new one.
    for (const each of [...left, workspaceId]) await sidebar.reload(each);
  }

  async function remove(ids) {
    const deleted = ids.map((id) => sidebar.find(id)).filter(Boolean);
    const touched = new Set(ids.map((id) => model.workspaceOf(id)));
    const message = deleted.length === 1 ? words.deleted(titleOf(ids[0])) : words.deletedMany(deleted.length);
    const done = await orTell(async () => {
      for (const { conversation_id: conversationId } of deleted) {
        await api.deleteConversation(conversationId);
        model.removeConversation(conversationId);
        events.emit('conversation:deleted', { conversationId });
      }
    });
    for (const each of touched) await sidebar.reload(each);
    sidebar.shelvesChanged('archived', 'bin');
    if (done) {
      showToast(message, { actionLabel: shellStrings.toast.undo, onAction: () => restore(deleted) });
    }
  }

  async function restore(conversations) {
    await orTell(async () => {
      for (const { conversation_id: id } of conversations) await api.restoreConversation(id);
      showToast(words.restored, { kind: 'success' });
    });
    await sidebar.refresh();
    sidebar.shelvesChanged('archived', 'bin');
    if (conversations.length === 1) {
      events.emit('conversation:open', { conversationId: conversations[0].conversation_id });
    }
  }

  async function flag(ids, color) {
    await orTell(async () => {
      for (const id of ids) {
        await api.setFlag(id, color);
        change(id, { flag: color });
      }
    });
  }

  async function pin(ids, pinned) {
    await orTell(async () => {
      for (const id of ids) {
        await (pinned ? api.pinConversation(id) : api.unpinConversation(id));
        change(id, { pinned });
      }
    });
  }

  async function putAway(ids) {
    const put = ids.map((id) => sidebar.find(id)).filter(Boolean);
    const touched = new Set(ids.map((id) => model.workspaceOf(id)));
    const message = put.length === 1 ? words.archived(titleOf(ids[0])) : words.archivedMany(put.length);
    const done = await orTell(async () => {
      for (const conversation of put) {
        await api.archiveConversation(conversation.conversation_id, true);
        model.removeConversation(conversation.conversation_id);
        sidebar.setAside({ ...conversation, archived: true });
      }
    });
    for (const each of touched) await sidebar.reload(each);
    sidebar.shelvesChanged('archived');
    if (done) showToast(message, { actionLabel: shellStrings.toast.undo, onAction: () => takeBack(ids) });
  }

  async function takeBack(ids) {
    await orTell(async () => {
      for (const id of ids) await api.archiveConversation(id, false);
      showToast(ids.length === 1 ? words.unarchived(titleOf(ids[0])) : words.restored, { kind: 'success' });
    });
    await sidebar.refresh();
    sidebar.shelvesChanged('archived');
  }

  const archive = (ids, archived) => (archived ? putAway(ids) : takeBack(ids));
  const openWindow = (id) => window.open(formatAddress(id), '_blank', 'noopener');

  return {
    copy,
    newConversation: sidebar.begin,
    newTemporary: sidebar.beginTemporary,
    rename,
    clone,
    pin,
    flag,
    moveConversations,
    archive,
    remove,
    openWindow,
  };
}

/** The same for workspaces. Their changes are rare and may touch the whole tree: it is fetched again. */
export function createWorkspaceActions({ api, domain, model, sidebar }) {
  const words = shellStrings.workspace;

  async function change(job) {
    await orTell(job);
    await sidebar.refresh();
  }

  async function newWorkspace(parentId = null) {
    const name = await askText({ title: words.newTitle, label: words.label, confirmLabel: words.create });
    if (name === null) return;
    await change(() => api.createWorkspace(domain, name, { parentId: parentId ?? undefined }));
  }

  async function renameWorkspace(id) {
    const value = model.workspace(id).workspace_name;
    const name = await askText({ title: words.renameTitle, label: words.label, value });
    if (name !== null) await change(() => api.updateWorkspace(id, { workspace_name: name }));
  }

  async function deleteWorkspace(id) {
    const sure = await confirmAction({
      title: words.deleteTitle(model.workspace(id).workspace_name),
      text: words.deleteText,
      confirmLabel: words.deleteConfirm,
    });
    if (sure) await change(() => api.deleteWorkspace(domain, id));
  }

  return {
    newWorkspace,
    renameWorkspace,
    deleteWorkspace,
    colorWorkspace: (id, color) => change(() => api.updateWorkspace(id, { workspace_color: color })),
    moveWorkspace: (id, parentId) => change(() => api.moveWorkspace(id, parentId)),
  };
}
