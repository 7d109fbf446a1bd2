"""Request and response models of workspaces."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from database.workspaces.repository import RemovedWorkspace
from endpoints.http.models import Body, Done, Id, Shape, Text, Title

WorkspaceColor = Annotated[Text, Field(max_length=31, examples=["primary"])]


class WorkspaceDraft(Body):
    """Colour and place of a new workspace."""

    workspace_color: WorkspaceColor = "primary"
    parent_workspace_id: Id | None = None


class WorkspaceChange(Body):
    """The properties to change."""

    workspace_name: Title | None = None
    workspace_color: WorkspaceColor | None = None
    expanded: bool | None = None


class WorkspacesCollapse(Body):
    """The workspaces to close."""

    workspace_ids: Annotated[list[Id], Field(max_length=1_000)]


class WorkspaceMove(Body):
    """The new parent; null is the top."""

    parent_workspace_id: Id | None


class ConversationMove(Body):
    """The new workspace of the conversation."""

    workspace_id: Id


class PathStep(Shape):
    """A workspace on the path from the top."""

    workspace_id: str
    workspace_name: str


class LostWorkspace(Body):
    """A deleted workspace as `/delete_workspace` returned it, to be restored."""

    workspace_id: Id
    workspace_name: Annotated[Text, Field(min_length=1, max_length=200)]
    workspace_color: WorkspaceColor
    expanded: bool
    parent_workspace_id: Id | None
    workspace_ids: Annotated[list[Id], Field(max_length=10_000)]
    conversation_ids: Annotated[list[Id], Field(max_length=50_000)]


class WorkspaceRemoved(Done):
    """The workspace was deleted."""

    removed: RemovedWorkspace
