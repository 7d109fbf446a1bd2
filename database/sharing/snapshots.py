"""What a shared link shows: the messages that anyone may see, copied as they are now, in parts of bounded size.

A part is a row of `shares` beside that of the share itself, named by the snapshot it belongs to and its first message.
"""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypedDict, cast

from sqlalchemy import ColumnElement, Connection, func, insert, or_, select

from database.engine.clock import now_iso
from database.engine.store import Store, Urgency
from database.messages.message import live_in
from database.schema import messages, shares
from database.turns.ephemeral import unkept_in

MESSAGES_A_PART = 50
_CHARACTERS_A_PART = 250_000
_NO_MODEL = "none"

_m = messages.c


class SharedMessage(TypedDict):
    """One message as strangers see it.

    message_index: 1-based among those that are shown. model: which one answered, None where that is not known.
    """

    message_index: int
    message_short_hash: str | None
    sender: str
    model: str | None
    text: str
    created_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """Where the parts are: `generation` names them all, `starts` are their first messages, counted from 1."""

    generation: str
    starts: tuple[int, ...]
    message_count: int


def count_messages(connection: Connection, *, user_email: str, conversation_id: str) -> tuple[int, int]:
    """How many messages a snapshot would show now, and how many it would leave out because they are hidden."""
    hidden = _m.show_hide == "hide"
    query = select(func.count().filter(_shown(user_email)), func.count().filter(hidden, _m.text != ""))
    query = query.where(_kept_in(conversation_id), _m.user_email == user_email)
    shown, left_out = connection.execute(query).one()
    return shown, left_out


def take_snapshot(store: Store, *, user_email: str, conversation_id: str) -> Snapshot:
    """Copy what may be shown, one part after the other, so that nobody waits and no length is too long."""
    generation, starts, copied = secrets.token_hex(16), [], 0
    with store.reading() as connection:
        parts = _plan(connection, _kept_in(conversation_id) & _shown(user_email))
    for numbers in parts:
        with store.reading() as connection:
            # By their numbers alone: were the conversation named too, each part would walk through all of it.
            copies = _copies(connection, _m.seq.in_(numbers) & _shown(user_email), first=copied + 1)
        if not copies:
            continue
        row = {
            "token_hash": _part_name(generation, copied + 1),
            "user_email": user_email,
            "conversation_id": conversation_id,
            "title": "",
            "snapshot": copies,
            "created_at": now_iso(),
        }
        store.write(partial(_add, row=row), urgency=Urgency.INDEX)
        starts.append(copied + 1)
        copied += len(copies)
    return Snapshot(generation=generation, starts=tuple(starts), message_count=copied)


def is_part(generation: str | None = None) -> ColumnElement[bool]:
    """The condition that a row of `shares` is a part, of that snapshot or of any; a share's own name has no dot."""
    return shares.c.token_hash.like(f"{generation or '%'}.%")


def is_whole(connection: Connection, snapshot: Snapshot, *, user_email: str, conversation_id: str) -> bool:
    """Whether all parts are still there."""
    own = (shares.c.user_email == user_email) & (shares.c.conversation_id == conversation_id)
    query = select(func.count()).select_from(shares).where(own, is_part(snapshot.generation))
    return connection.execute(query).scalar_one() == len(snapshot.starts)


def read_part(connection: Connection, snapshot: Snapshot, *, after: int, limit: int) -> list[SharedMessage]:
    """At most `limit` messages behind that number `after`, and none of the next part. One query."""
    if after >= snapshot.message_count:
        return []
    start = snapshot.starts[bisect_right(snapshot.starts, after + 1) - 1]
    query = select(shares.c.snapshot).where(shares.c.token_hash == _part_name(snapshot.generation, start))
    part = cast("list[SharedMessage]", connection.execute(query).scalar_one())
    return part[after + 1 - start :][:limit]


def _shown(user_email: str) -> ColumnElement[bool]:
    """Said, finished and not hidden. Of an answer that is being made again, the row holds what it said before."""
    finished = or_(_m.status != "streaming", _m.chosen_variant.is_not(None))
    own = (_m.user_email == user_email) & _m.deleted_at.is_(None)
    return own & (_m.show_hide != "hide") & (_m.text != "") & finished


def _kept_in(conversation_id: str) -> ColumnElement[bool]:
    """Live, and there to stay: a snapshot must not outlive a question that nobody keeps."""
    return live_in(conversation_id) & _m.message_id.not_in(unkept_in(conversation_id))


def _plan(connection: Connection, shown: ColumnElement[bool]) -> list[list[int]]:
    """The messages of each part, by `seq`."""
    query = select(_m.seq, func.length(_m.text)).where(shown).order_by(_m.ordinal)
    parts: list[list[int]] = []
    characters = 0
    for number, length in connection.execute(query):
        characters += length
        if not parts or characters > _CHARACTERS_A_PART or len(parts[-1]) >= MESSAGES_A_PART:
            parts.append([])
            characters = length
        parts[-1].append(number)
    return parts


def _copies(connection: Connection, which: ColumnElement[bool], *, first: int) -> list[SharedMessage]:
    """These columns and no others: reports, memories and settings of a message tell of what lies elsewhere."""
    query = select(
        _m.message_short_hash, _m.sender, _m.config["model"].as_string().label("model"), _m.text, _m.created_at
    )
    rows: Sequence[Any] = connection.execute(query.where(which).order_by(_m.ordinal)).all()
    return [
        SharedMessage(
            message_index=index,
            message_short_hash=row.message_short_hash,
            sender=row.sender,
            model=row.model if row.sender == "model" and row.model != _NO_MODEL else None,
            text=row.text,
            created_at=row.created_at,
        )
        for index, row in enumerate(rows, first)
    ]


def _part_name(generation: str, start: int) -> str:
    return f"{generation}.{start}"


def _add(connection: Connection, row: dict[str, Any]) -> None:
    connection.execute(insert(shares).values(row))
