import { shellStrings } from '../../strings/en/shell.js';

/** What the server calls the workspace that everybody has, until it is renamed. */
const NAMED_BY_THE_SERVER = 'General';

/**
 * A workspace as people call it here: the default one has a name in each language.
 *
 * @template {{workspace_id: string, workspace_name: string}} Workspace
 * @param {Workspace} workspace
 * @returns {Workspace}
 */
export function inOwnWords(workspace) {
  const isDefault = workspace.workspace_id.startsWith('default_') && workspace.workspace_name === NAMED_BY_THE_SERVER;
  return isDefault ? { ...workspace, workspace_name: shellStrings.defaultWorkspace } : workspace;
}
