/** All that can be done to a row of the sidebar. Loaded when the pointer first comes near, or a key asks for it. */

import { wide } from '../../ui/columns.js';
import { dressMenus } from './vakata.js';
import { createConversationActions } from './conversations.js';
import { conversationMenu, newMenu, workspaceMenu } from './menu_items.js';
import { createWorkspaceActions } from './workspaces.js';

/**
 * @param {object} parts what `createConversationActions` needs
 * @returns {object} the actions by name; `menuOf(subject, chosen)`, vakata's items for a row and those that are chosen with it, and `newMenu()`, those beside "New
 *   conversation"; `renameSubject(subject)` and `removeSubject(subject)` for keys, `moveSubjects(subjects, workspaceId)` for the mouse
 */
export function createCommands(parts) {
  const { store, model, sidebar } = parts;
  const actions = { ...createConversationActions(parts), ...createWorkspaceActions(parts) };
  dressMenus();

  function menuOf({ kind, id }, chosen = sidebar.chosenWith(id)) {
    const outline = model.outline();
    if (kind === 'conversation') {
      const home = model.workspaceOf(id);
      return conversationMenu(store.conversation(id), { chosen, home, outline, hasPlaceBeside: wide.matches && !store.isShown(id), actions });
    }
    return workspaceMenu(model.workspace(id), {
      outline,
      isDefault: model.isDefault(id),
      mayMoveTo: (parentId) => model.mayMoveWorkspace(id, parentId),
      actions,
    });
  }

  async function moveSubjects(subjects, workspaceId) {
    const idsOf = (wanted) => subjects.filter(({ kind }) => kind === wanted).map(({ id }) => id);
    const conversations = idsOf('conversation');
    if (conversations.length) await actions.moveConversations(conversations, workspaceId);
    for (const id of idsOf('workspace')) await actions.moveWorkspace(id, workspaceId);
  }

  function renameSubject({ kind, id }) {
    if (kind === 'conversation') return actions.rename(id);
    return kind === 'workspace' ? actions.renameWorkspace(id) : undefined;
  }

  function removeSubject({ kind, id }) {
    if (kind === 'conversation') return actions.remove(sidebar.chosenWith(id));
    return kind === 'workspace' && !model.isDefault(id) ? actions.deleteWorkspace(id) : undefined;
  }

  return { ...actions, menuOf, newMenu: () => newMenu(actions), moveSubjects, renameSubject, removeSubject };
}
