"""Copying people's memories from one knowledge base into another: whole, verified, and once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from sqlalchemy import select, union

from ..database import PKBDatabase, Prepared
from ..errors import KnowledgeCopyError, MemoriesPresentError
from ..schema import tables
from .exporting import export_data
from .importing import import_data, last_number, set_last_number

_OWNED = (tables.claims, tables.notes, tables.entities, tables.tags, tables.contexts, tables.conflict_sets)
_EMAILS = union(*(select(table.c.user_email) for table in _OWNED)).subquery()
_PEOPLE = Prepared(select(_EMAILS.c.user_email))


class CopiedMemories(NamedTuple):
    """How many memories a person has in the target. is_new: False where exactly these were there already."""

    claims: int
    is_new: bool


def people_with_memories(db: PKBDatabase) -> list[str]:
    """Everybody who has memories, notes or groups, by address."""
    return sorted(email for (email,) in db.rows(_PEOPLE))


def copy_memories(source: PKBDatabase, target: PKBDatabase, *, user_email: str) -> CopiedMemories:
    """Copy everything that an export holds of one person, in one transaction; ids, numbers and names stay.

    The counts and the hash of each table in the target are compared with the source before the transaction is
    committed. Copying again changes nothing. The history of changes is not copied, vectors are made anew.

    Raises MemoriesPresentError where the person has other memories in the target, KnowledgeCopyError where the copy
    would differ from its source; then nothing is stored.
    """
    payload = export_data(source, user_email)
    wanted = _fingerprints(payload)
    claims = payload["counts"]["claims"]
    with target.transaction():
        there = export_data(target, user_email)
        if _fingerprints(there) == wanted:
            return CopiedMemories(claims, is_new=False)
        if any(there["counts"].values()):
            raise MemoriesPresentError(user_email)
        import_data(target, user_email, payload)
        set_last_number(target, user_email, max(last_number(source, user_email), last_number(target, user_email)))
        copied = _fingerprints(export_data(target, user_email))
        differing = [table for table in wanted if copied[table] != wanted[table]]
        if differing:
            raise KnowledgeCopyError(user_email, differing)
    return CopiedMemories(claims, is_new=True)


def _fingerprints(exported: Mapping[str, Any]) -> dict[str, tuple[int, str]]:
    """(rows, SHA-256 of them in an order that no database decides) by table."""
    found = {}
    for table, rows in exported["data"].items():
        lines = sorted(json.dumps(row, sort_keys=True) for row in rows)
        found[table] = (len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest())
    return found
