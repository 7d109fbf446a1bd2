"""What changes of many things at once take and what they answer."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from database.conversation_bulk import Change, Fate

from .schemas import Body, Id, Text, WorkspaceColor
from .shapes import Done, Shape

_MOST = 1_000
_VALUED = ("move", "flag")


class BulkChange(Body):
    """What to do to which conversations. `value`: the workspace to "move" to, or the "flag" to set; else left out."""

    conversation_ids: Annotated[list[Id], Field(min_length=1, max_length=_MOST)]
    change: Change
    value: Annotated[Text, Field(min_length=1, max_length=400)] | None = None

    @model_validator(mode="after")
    def _valued_where_it_has_to_be(self) -> BulkChange:
        if (self.change in _VALUED) != (self.value is not None):
            raise ValueError(f"{' and '.join(_VALUED)} take a value, the other changes take none")
        return self


class BulkResult(Shape):
    """What became of one conversation. `conflict`: it belongs to another domain than the workspace."""

    conversation_id: str
    status: Fate


class BulkResults(Shape):
    """One result for each id, in the order in which they were sent."""

    results: list[BulkResult]


class LostWorkspace(Body):
    """A workspace that was deleted, as its deletion told it: enough to bring it back."""

    workspace_id: Id
    workspace_name: Annotated[Text, Field(min_length=1, max_length=200)]
    workspace_color: WorkspaceColor
    expanded: bool
    parent_workspace_id: Id | None
    workspace_ids: Annotated[list[Id], Field(max_length=10_000)]
    conversation_ids: Annotated[list[Id], Field(max_length=50_000)]


class RemovedWorkspaceItem(Shape):
    """A workspace that is gone, and what lay directly in it: what `/restore_workspace/<domain>` takes."""

    workspace_id: str
    workspace_name: str
    workspace_color: str
    expanded: bool
    parent_workspace_id: str | None
    workspace_ids: list[str]
    conversation_ids: list[str]


class WorkspaceRemoved(Done):
    """It is gone."""

    removed: RemovedWorkspaceItem
