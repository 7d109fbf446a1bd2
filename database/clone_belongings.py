"""What goes with messages into a copy of their conversation: references, earlier texts, variants of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Table, insert, select

from .schema import message_edits, message_references, message_variants
from .stream_events import joined_text, stored_events

Belongings = Sequence[tuple[Table, Sequence[dict[str, Any]]]]
_NUMBERED_BY_THE_STORE = {"edit_id"}


def told_so_far(connection: Connection, row: Row[*tuple[Any, ...]]) -> dict[str, Any]:
    """The message; of an answer in the making, of which a conversation has one at most, what was told of it.

    One that is being made again is what it was before.
    """
    fields = dict(row._mapping)
    if fields["status"] != "streaming":
        return fields
    if fields["chosen_variant"] is not None:
        chosen = select(message_variants.c.status).where(
            message_variants.c.message_id == fields["message_id"],
            message_variants.c.number == fields["chosen_variant"],
        )
        return fields | {"status": connection.execute(chosen).scalar_one()}
    return fields | _interrupted(connection, fields["message_id"])


def read_belongings(connection: Connection, message_ids: Mapping[str, str], originals: Sequence[str]) -> Belongings:
    """The belongings of the messages `originals`, as those of their copies; message_ids: the copies' ids by theirs."""
    found = []
    for table in (message_references, message_edits, message_variants):
        names = [column.name for column in table.c if column.name not in _NUMBERED_BY_THE_STORE]
        query = select(*(table.c[name] for name in names)).where(table.c.message_id.in_(originals))
        rows = connection.execute(query.order_by(*table.primary_key.columns)).all()
        found.append((table, [_copied(connection, dict(row._mapping), message_ids) for row in rows]))
    return found


def add_belongings(connection: Connection, belongings: Belongings) -> None:
    """Store them; the copies themselves are there already."""
    for table, rows in belongings:
        if rows:
            connection.execute(insert(table), list(rows))


def _copied(connection: Connection, fields: dict[str, Any], message_ids: Mapping[str, str]) -> dict[str, Any]:
    if fields.get("status") == "streaming" and "number" in fields:
        fields |= _interrupted(connection, fields["message_id"])
    return fields | {"message_id": message_ids[fields["message_id"]]}


def _interrupted(connection: Connection, message_id: str) -> dict[str, Any]:
    return {"text": joined_text(stored_events(connection, message_id)), "status": "interrupted"}
