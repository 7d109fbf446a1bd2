"""Workspaces: the folders in which a user's conversations lie.

Older clients and scripts import these names from here.
"""

from .repository import (
    createWorkspace,
    deleteWorkspace,
    getWorkspacePath,
    load_workspaces_for_user,
    moveWorkspaceToParent,
    renameWorkspace,
    setWorkspacesExpanded,
    updateWorkspace,
)

__all__ = [
    "createWorkspace",
    "deleteWorkspace",
    "getWorkspacePath",
    "load_workspaces_for_user",
    "moveWorkspaceToParent",
    "renameWorkspace",
    "setWorkspacesExpanded",
    "updateWorkspace",
]
