/** What the sidebar's menus do to workspaces: ask the server first, then put what came of it into the store. */

import { createBulkApi } from './bulk_api.js';
import { shellStrings } from '../../strings/en/shell.js';
import { sidebarStrings } from '../../strings/en/sidebar.js';
import { ROOT } from '../tree_nodes_model.js';
import { attempt } from '../../ui/notices/attempts.js';
import { askText, confirmAction } from '../../ui/controls/dialog.js';
import { showToast } from '../../ui/notices/toast.js';

const words = shellStrings.workspace;

/** @param {import('./conversations.js').Parts & {domain: string}} parts */
export function createWorkspaceActions({ api, store, domain, model, sidebar }) {
  const failed = shellStrings.sidebar.actionFailed;

  /**
   * @param {() => Promise<object>} job asks the server
   * @param {(answer: object) => void|Promise<void>} apply puts what came of it into the store
   */
  async function change(job, apply, { creates } = {}) {
    const again = async () => {
      await change(job, apply, { creates });
    };
    const answer = await attempt(job, { failed, again, creates });
    if (answer !== null) await apply(answer);
    // A drag has moved the row already: where nothing came of it, it has to go back.
    else await sidebar.reload(ROOT);
  }

  const setFields = (id, fields) => change(() => api.updateWorkspace(id, fields), () => store.changeWorkspace(id, fields));

  /** Among many conversations a new row is somewhere out of view. */
  async function showNew(workspace) {
    store.putWorkspace(workspace);
    await sidebar.drawn();
    await sidebar.showWorkspace(workspace.workspace_id);
  }

  async function newWorkspace(parentId = null) {
    const name = await askText({ title: words.newTitle, label: words.label, confirmLabel: words.create });
    if (name === null) return;
    const make = () => api.createWorkspace(domain, name, { parentId: parentId ?? undefined });
    await change(make, showNew, { creates: true });
  }

  async function renameWorkspace(id) {
    const value = model.workspace(id).workspace_name;
    const name = await askText({ title: words.renameTitle, label: words.label, value });
    if (name !== null) await setFields(id, { workspace_name: name });
  }

  async function restoreWorkspace(removed) {
    const { workspace_name: name } = removed;
    await change(() => createBulkApi(api).restoreWorkspace(domain, removed), () => {
      showToast(sidebarStrings.workspace.restored(name), { kind: 'success' });
    });
  }

  async function deleteWorkspace(id) {
    const { workspace_name: name } = model.workspace(id);
    const question = { title: words.deleteTitle(name), text: words.deleteText, confirmLabel: words.deleteConfirm };
    if (!(await confirmAction(question))) return;
    const answer = await attempt(() => api.deleteWorkspace(domain, id), { failed });
    if (answer === null) return;
    store.removeWorkspace(id, { movedTo: answer.removed.parent_workspace_id ?? model.defaultWorkspaceId });
    await sidebar.drawn();
    showToast(sidebarStrings.workspace.deleted(name), {
      actionLabel: shellStrings.toast.undo,
      onAction: () => restoreWorkspace(answer.removed),
    });
  }

  return {
    newWorkspace,
    renameWorkspace,
    deleteWorkspace,
    colorWorkspace: (id, color) => setFields(id, { workspace_color: color }),
    moveWorkspace: (id, parentId) =>
      change(() => api.moveWorkspace(id, parentId), () => store.changeWorkspace(id, { parent_workspace_id: parentId })),
  };
}
