"""Giving readable ids: every claim, entity, tag and context gets its own here, however it is born."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import islice
from typing import Any

from sqlalchemy import Select, bindparam, literal_column, select
from sqlalchemy.exc import IntegrityError

from sentences import say

from ..database import Prepared
from ..database.audit_log import ChangeSet
from ..errors import FriendlyIdTakenError, InvalidKnowledgeError
from ..schema import metadata
from ..schema.operators import caseless
from ..utils import GROUP_SUFFIXES, friendly_id_candidates, is_reserved, is_well_formed

_TRIES = 20


def insert_named(
    changes: ChangeSet,
    table: str,
    row: Mapping[str, Any],
    *,
    text: str,
    suffix: str = "",
    kind: str = "",
) -> str:
    """Insert `row` with the readable id that it brings, else with one made of `text`; returns the id.

    suffix: "_context", "_entity" or "_tag" for a group; claims have none. kind: a word before it. Raises
    InvalidKnowledgeError and FriendlyIdTakenError for an id that was given and can't be had; IntegrityError for other
    conflicts.
    """
    given = row.get("friendly_id")
    if given:
        check_given(given, suffix=suffix)
        if not _inserted(changes, table, {**row, "friendly_id": given}):
            raise FriendlyIdTakenError(given)
        return str(given)
    for candidate in islice(friendly_id_candidates(text, suffix, kind=kind), _TRIES):
        if _inserted(changes, table, {**row, "friendly_id": candidate}):
            return candidate
    raise FriendlyIdTakenError(candidate)


def check_given(friendly_id: str, *, suffix: str) -> None:
    """Raise InvalidKnowledgeError for an id that a user may not give to something of this kind."""
    if not isinstance(friendly_id, str) or not is_well_formed(friendly_id):
        raise InvalidKnowledgeError(say("memory_id_malformed", reference=repr(friendly_id)))
    lowered = friendly_id.lower()
    if is_reserved(lowered):
        raise InvalidKnowledgeError(say("memory_id_reserved", reference=friendly_id))
    foreign = [other for other in GROUP_SUFFIXES if other != suffix and lowered.endswith(other)]
    if foreign:
        raise InvalidKnowledgeError(say("memory_id_ending", reference=friendly_id, ending=foreign[0]))


def _inserted(changes: ChangeSet, table: str, row: Mapping[str, Any]) -> bool:
    """Whether `row` is in; False where its readable id is taken."""
    # A lookup is cheaper than a failed insert; the UNIQUE index still decides.
    if changes.db.row(_taken(table), user=row["user_email"], friendly_id=row["friendly_id"]):
        return False
    try:
        with changes.attempt():
            changes.insert(table, row)
    except IntegrityError as error:
        if "friendly_id" in str(error.orig):
            return False
        raise
    return True


@cache
def _taken(table: str) -> Prepared:
    rows = metadata.tables[table].c
    query: Select[Any] = select(literal_column("1")).where(rows.user_email == bindparam("user"))
    return Prepared(query.where(caseless(rows.friendly_id) == caseless(bindparam("friendly_id"))).limit(1))
