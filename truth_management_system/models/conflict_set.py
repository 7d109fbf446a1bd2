"""Claims that contradict each other."""

from __future__ import annotations

from dataclasses import dataclass, field

from database.engine.clock import now_iso

from ..constants import ConflictStatus
from .stored import Stored, columns_of


@dataclass(slots=True)
class ConflictSet(Stored):
    """Claims that contradict each other."""

    conflict_set_id: str
    user_email: str = ""
    status: str = ConflictStatus.OPEN.value
    resolution_notes: str | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)
    member_claim_ids: list[str] = field(default_factory=list)


CONFLICT_SET_COLUMNS = columns_of(ConflictSet, computed=frozenset({"member_claim_ids"}))
