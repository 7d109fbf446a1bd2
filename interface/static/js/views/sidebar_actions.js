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
 * @param {{begin: (workspaceId: string) => void, add: (conversation: object) => Promise<void>, refresh: () => Promise<void>,
 *          reload: (workspaceId: string) => Promise<void>, redraw: (conversation: object) => void}} parts.sidebar
 */
export function createConversationActions({ api, events, model, sidebar }) {
  const words = shellStrings.conversation;
  const titleOf = (id) => model.conversation(id)?.title || UNTITLED;

  async function rename(id) {
    const title = await askText({ title: words.renameTitle, label: words.renameLabel, value: model.conversation(id)?.title ?? '', maxLength: 500 });
    if (title === null) return;
    await orTell(async () => {
      await api.setConversationTitle(id, title);
      sidebar.redraw(model.changeConversation(id, { title }));
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
    const deleted = ids.map((id) => model.conversation(id)).filter(Boolean);
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
    if (conversations.length === 1) {
      events.emit('conversation:open', { conversationId: conversations[0].conversation_id });
    }
  }

  const openWindow = (id) => window.open(formatAddress(id), '_blank', 'noopener');

  return { copy, newConversation: sidebar.begin, rename, clone, moveConversations, remove, openWindow };
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
