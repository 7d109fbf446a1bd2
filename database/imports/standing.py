"""What follows the answers of an imported conversation here, so that a longer export of it is placed beside that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from database.engine.database import Database
from database.schema import imported_conversations, imported_messages, messages

from .origins import names_source

_ic, _im, _m = imported_conversations.c, imported_messages.c, messages.c


@dataclass(frozen=True, slots=True)
class Standing:
    """Where messages of a source stand here, by their ids there; empty for a conversation that is new.

    known: all that stand here. followed: of a message, all versions of the one that it follows here. continued: the
    versions behind which the person went on. left: those with all other versions of the same messages.
    """

    known: frozenset[str] = frozenset()
    followed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    continued: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()


def standing_of(*, database: Database, user_email: str, source: str, source_id: str) -> Standing:
    """Where the messages of a conversation of the source stand in this account."""
    which = select(_ic.conversation_id).where(
        _ic.user_email == user_email, _ic.source == source, _ic.source_id == source_id
    )
    with database.reading() as connection:
        conversation_id = connection.execute(which).scalar()
        return Standing() if conversation_id is None else _standing(connection, conversation_id)


def _standing(connection: Connection, conversation_id: str) -> Standing:
    columns = (_m.message_id, _m.branch_id, _m.branch_of, _m.chosen_variant)
    here = select(*columns).where(_m.conversation_id == conversation_id).order_by(_m.ordinal)
    identified = select(_im.source_id, _im.message_id, _im.number).where(_im.conversation_id == conversation_id)
    versions: dict[str, dict[str, int]] = {}
    for source_id, message_id, number in connection.execute(identified):
        if not names_source(source_id, message_id):
            continue
        versions.setdefault(message_id, {})[source_id] = number
    followed: dict[str, frozenset[str]] = {}
    continued, left = set[str](), set[str]()
    for row, before in _with_those_before(connection.execute(here).all()):
        above = versions.get(before.message_id, {})
        if row.message_id in versions:
            followed |= dict.fromkeys(versions[row.message_id], frozenset(above))
        else:
            left.update(above)
            continued.update(name for name, number in above.items() if number == (before.chosen_variant or 1))
    known = frozenset(name for each in versions.values() for name in each)
    return Standing(known, followed, frozenset(continued), frozenset(left))


def _with_those_before(rows: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Each message with the one before it on its path; a question that begins a branch follows what the first did."""
    last: dict[str | None, Any] = {}
    before: dict[str, Any] = {}
    for row in rows:
        above = before.get(row.branch_of) if row.branch_of is not None else last.get(row.branch_id)
        last[row.branch_id] = row
        if above is not None:
            before[row.message_id] = above
            yield row, above
