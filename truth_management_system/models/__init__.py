"""What the knowledge base holds, as its callers see it. JSON columns stay text, as stored."""

from __future__ import annotations

from .claim import CLAIM_COLUMNS, Claim
from .conflict_set import CONFLICT_SET_COLUMNS, ConflictSet
from .groups import CONTEXT_COLUMNS, ENTITY_COLUMNS, TAG_COLUMNS, Context, Entity, Tag
from .note import NOTE_COLUMNS, Note

__all__ = [
    "CLAIM_COLUMNS",
    "CONFLICT_SET_COLUMNS",
    "CONTEXT_COLUMNS",
    "ENTITY_COLUMNS",
    "NOTE_COLUMNS",
    "TAG_COLUMNS",
    "Claim",
    "ConflictSet",
    "Context",
    "Entity",
    "Note",
    "Tag",
]
