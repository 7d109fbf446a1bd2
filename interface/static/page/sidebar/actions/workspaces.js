/** What the sidebar's menus do to workspaces. Their changes are rare and may touch the whole tree: it is fetched again. */

import { createBulkApi } from './bulk_api.js';
import { shellStrings } from '../../strings/en/shell.js';
import { sidebarStrings } from '../../strings/en/sidebar.js';
import { attempt } from '../../ui/attempts.js';
import { askText, confirmAction } from '../../ui/dialog.js';
import { showToast } from '../../ui/toast.js';

const words = shellStrings.workspace;

/** @param {import('./conversations.js').Parts & {domain: string}} parts */
export function createWorkspaceActions({ api, domain, model, sidebar }) {
  /** @returns {Promise<object|null>} what the job gave; null where it failed, which has been told */
  async function change(job, { creates } = {}) {
    const failed = shellStrings.sidebar.actionFailed;
    const again = async () => {
      await change(job, { creates });
    };
    const result = await attempt(job, { failed, again, creates });
    // Also after a failure: a drag has moved the row already.
    await sidebar.refresh();
    return result;
  }

  async function newWorkspace(parentId = null) {
    const name = await askText({ title: words.newTitle, label: words.label, confirmLabel: words.create });
    if (name === null) return;
    await change(() => api.createWorkspace(domain, name, { parentId: parentId ?? undefined }), { creates: true });
  }

  async function renameWorkspace(id) {
    const value = model.workspace(id).workspace_name;
    const name = await askText({ title: words.renameTitle, label: words.label, value });
    if (name !== null) await change(() => api.updateWorkspace(id, { workspace_name: name }));
  }

  async function restoreWorkspace(removed) {
    const { workspace_name: name } = removed;
    if ((await change(() => createBulkApi(api).restoreWorkspace(domain, removed))) === null) return;
    showToast(sidebarStrings.workspace.restored(name), { kind: 'success' });
  }

  async function deleteWorkspace(id) {
    const { workspace_name: name } = model.workspace(id);
    const question = { title: words.deleteTitle(name), text: words.deleteText, confirmLabel: words.deleteConfirm };
    if (!(await confirmAction(question))) return;
    const answer = await attempt(() => api.deleteWorkspace(domain, id), { failed: shellStrings.sidebar.actionFailed });
    if (answer === null) return;
    await sidebar.refresh();
    showToast(sidebarStrings.workspace.deleted(name), {
      actionLabel: shellStrings.toast.undo,
      onAction: () => restoreWorkspace(answer.removed),
    });
  }

  return {
    newWorkspace,
    renameWorkspace,
    deleteWorkspace,
    colorWorkspace: (id, color) => change(() => api.updateWorkspace(id, { workspace_color: color })),
    moveWorkspace: (id, parentId) => change(() => api.moveWorkspace(id, parentId)),
  };
}
