"""How a workspace is shown, and what its name and colour may be."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypedDict

from sqlalchemy import Row

from .default_workspace import DEFAULT_WORKSPACE_COLOR, DEFAULT_WORKSPACE_NAME
from .errors import InvalidChangeError
from .stored_text import storable

_LONGEST_NAME = 200
_COLOR = re.compile(r"#?[a-z0-9-]{1,30}")


class WorkspaceShape(TypedDict):
    """One workspace as clients are shown it. `conversation_count`: live ones that are not archived, directly in it."""

    workspace_id: str
    workspace_name: str
    workspace_color: str
    domain: str
    expanded: bool
    parent_workspace_id: str | None
    conversation_count: int


class RemovedWorkspace(TypedDict):
    """A workspace that was deleted, and all that `restore_workspace` needs to bring it back.

    `workspace_ids` and `conversation_ids` lay directly in it, archived and deleted conversations among them.
    """

    workspace_id: str
    workspace_name: str
    workspace_color: str
    expanded: bool
    parent_workspace_id: str | None
    workspace_ids: list[str]
    conversation_ids: list[str]


def workspace_shape(row: Row[Any]) -> WorkspaceShape:
    """The shape of a stored workspace; whoever counts its conversations adds them."""
    return WorkspaceShape(
        workspace_id=row.workspace_id,
        workspace_name=row.workspace_name,
        workspace_color=row.workspace_color,
        domain=row.domain,
        expanded=bool(row.expanded),
        parent_workspace_id=row.parent_workspace_id,
        conversation_count=0,
    )


def removed_workspace(
    row: Row[Any], *, workspace_ids: Iterable[str], conversation_ids: Iterable[str]
) -> RemovedWorkspace:
    """What is told of a workspace that goes, `row`, and of what lay in it."""
    return RemovedWorkspace(
        workspace_id=row.workspace_id,
        workspace_name=row.workspace_name,
        workspace_color=row.workspace_color,
        expanded=bool(row.expanded),
        parent_workspace_id=row.parent_workspace_id,
        workspace_ids=list(workspace_ids),
        conversation_ids=list(conversation_ids),
    )


def unstored_default(workspace_id: str, domain: str) -> WorkspaceShape:
    """The shape of a default workspace that nobody has needed to store yet."""
    return WorkspaceShape(
        workspace_id=workspace_id,
        workspace_name=DEFAULT_WORKSPACE_NAME,
        workspace_color=DEFAULT_WORKSPACE_COLOR,
        domain=domain,
        expanded=True,
        parent_workspace_id=None,
        conversation_count=0,
    )


def by_name(shape: WorkspaceShape) -> tuple[str, str]:
    """Sorts workspaces as a person expects."""
    return shape["workspace_name"].casefold(), shape["workspace_id"]


def valid_name(name: str) -> str:
    """`name` with single spaces. Raises InvalidChangeError where nothing or too much is left."""
    cleaned = storable(" ".join(name.split()))
    if not 0 < len(cleaned) <= _LONGEST_NAME:
        raise InvalidChangeError(f"A workspace has a name of 1 to {_LONGEST_NAME} characters.")
    return cleaned


def valid_color(color: str) -> str:
    """`color` if it looks like one. Raises InvalidChangeError."""
    if not _COLOR.fullmatch(color):
        raise InvalidChangeError("A workspace's colour is the name of one.")
    return color
