"""A note: longer text beside the claims."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from database.engine.clock import now_iso

from ..utils import generate_uuid
from .stored import Stored, columns_of


@dataclass(slots=True)
class Note(Stored):
    """Longer text."""

    note_id: str
    user_email: str = ""
    title: str | None = None
    body: str = ""
    context_domain: str | None = None
    meta_json: str | None = None
    created_at: str = field(default_factory=now_iso)
    updated_at: str = field(default_factory=now_iso)

    @classmethod
    def create(cls, body: str, title: str | None = None, *, user_email: str | None = None, **fields: Any) -> Note:
        """A new note, not stored yet."""
        return cls(note_id=generate_uuid(), body=body, title=title, user_email=user_email or "", **fields)


NOTE_COLUMNS = columns_of(Note)
