"""Workspaces: the folders of a user's conversations.

Callers that know a data folder by its path use the names below; inside, functions take the `Database`.
"""

from database.connection import by_folder
from database.workspaces import repository

createWorkspace = by_folder(repository.create_workspace)
deleteWorkspace = by_folder(repository.delete_workspace)
getWorkspacePath = by_folder(repository.get_workspace_path)
load_workspaces_for_user = by_folder(repository.load_workspaces)
moveWorkspaceToParent = by_folder(repository.move_workspace)
renameWorkspace = by_folder(repository.rename_workspace)
setWorkspacesExpanded = by_folder(repository.set_workspaces_expanded)
updateWorkspace = by_folder(repository.update_workspace)
