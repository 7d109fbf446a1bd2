"""Undoing what an import brought beside conversations: documents, memories, settings, and empty folders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from database.engine.database import Database
from database.engine.errors import StoreError
from database.imports.changes import Change, forget_beside, noted_beside
from database.imports.repository import Import
from database.imports.undoing import Undone, undo_rows_beside
from sentences import say

DOCUMENT, TO_LEARN_FROM, MEMORIES = "document", "to_learn_from", "memories"
AGENT, PRESET, PROMPT, TOLD = "agent", "preset", "prompt", "told"
SETTINGS = (AGENT, PRESET, PROMPT, TOLD)


class Taker(Protocol):
    """Removes one thing; returns why it stays, or an empty text. Raises StoreError."""

    def take_back(self, user_email: str, change: Change) -> str:
        """See the class."""
        ...


def take_back_beside(*, database: Database, which: Import, takers: Mapping[str, Taker | None]) -> Undone:
    """Remove a batch of things; returns whether none is left. takers: by the kinds of things."""
    undone = Undone()
    some = noted_beside(database=database, import_id=which.import_id, kinds=tuple(takers))
    if not some:
        return undo_rows_beside(database=database, which=which)
    for change in some:
        reason, name = _why_it_stays(which.user_email, change, takers[change.kind])
        if reason:
            undone.kept.append({"item": name, "reason": reason})
        forget_beside(database=database, import_id=which.import_id, change=change)
    return undone


def _why_it_stays(user_email: str, change: Change, taker: Taker | None) -> tuple[str, str]:
    """Remove one thing; returns why it stays, and its name for the report."""
    name = str(change.became.get("name") or change.became.get("title") or change.thing_id)
    if taker is None:
        return say("import_not_taken_back_here"), name
    try:
        return taker.take_back(user_email, change), name
    except StoreError as error:
        return error.message, name
