"""What answers about conflicts, history and copies look like."""

from __future__ import annotations

from typing import Any

from ..shapes import Shape
from .shapes import Changed, ClaimItem


class ConflictItem(Shape):
    """Claims that contradict each other."""

    conflict_set_id: str
    status: str
    resolution_notes: str | None
    created_at: str
    members: list[ClaimItem]


class ConflictList(Shape):
    """Conflicts."""

    conflicts: list[ConflictItem]


class ChangedConflict(Changed):
    """A conflict as it is now."""

    conflict: ConflictItem


class HistoryItem(Shape):
    """One change."""

    audit_seq: int
    audit_id: str
    action: str
    object_type: str
    object_id: str | None
    title: str
    detail: dict[str, Any]
    created_at: str
    undone_by: str | None
    can_undo: bool


class History(Shape):
    """Changes, newest first."""

    entries: list[HistoryItem]


class Undone(Shape):
    """Which change was taken back, and the change that did it."""

    undone: str
    audit_id: str


class Imported(Changed):
    """How many rows of each table came in, and how many were there already."""

    counts: dict[str, int]
    skipped: Any
