/** All that can be done to a row of the sidebar. Loaded when the pointer first comes near, or a key asks for it. */

import { dressMenus } from './menu_dress.js';
import { createConversationActions, createWorkspaceActions } from './sidebar_actions.js';
import { conversationMenu, workspaceMenu } from './sidebar_menus.js';

/**
 * @param {object} parts what `createConversationActions` needs, and `chosenWith`: the conversations that a menu opened
 *   on one of them speaks of
 * @returns {object} the actions by name, and `menuOf(subject)`, vakata's items for a row
 */
export function createCommands({ chosenWith, ...parts }) {
  const { model } = parts;
  const actions = { ...createConversationActions(parts), ...createWorkspaceActions(parts) };
  dressMenus();

  function menuOf({ kind, id }) {
    const outline = model.outline();
    if (kind === 'conversation') {
      const home = model.workspaceOf(id);
      return conversationMenu(model.conversation(id), { chosen: chosenWith(id), home, outline, actions });
    }
    return workspaceMenu(model.workspace(id), {
      outline,
      isDefault: model.isDefault(id),
      mayMoveTo: (parentId) => model.mayMoveWorkspace(id, parentId),
      actions,
    });
  }

  return { ...actions, menuOf };
}
