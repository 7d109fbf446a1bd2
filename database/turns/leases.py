"""Leases of running turns: which process writes an answer, and until when it is taken to be alive.

Other processes follow a turn, and ask for its end, by the store alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Text,
    bindparam,
    case,
    column,
    delete,
    func,
    select,
    update,
    values,
)

from database.engine.clock import store_time
from database.engine.database import Database, Urgency
from database.engine.statements import Prepared, insert_rows
from database.schema import messages, stop_requests, stream_events

LEASE_SECONDS = 6.0
"""Two renewals may be late. Others look every half second, so that a busy machine has three seconds for closing."""
RENEW_SECONDS = 2.0

_e, _m, _s = stream_events.c, messages.c, stop_requests.c
_RENEW = Prepared(
    update(messages)
    .where(_m.status == "streaming", _m.owner == bindparam("process"))
    .values(lease_until=store_time(seconds=LEASE_SECONDS))
)
LEASE_UNTIL = case((bindparam("is_leased", type_=Integer) == 1, store_time(seconds=LEASE_SECONDS)))
"""The value of `lease_until` in a prepared insert; `inserted_lease` has its parameter."""
_ACCEPTED = "turns_accepted"
"""The key of a connection's `info` that counts the turns it has ever accepted."""
_RUNNING = Prepared(
    select(func.count()).select_from(
        select(_m.seq)
        .where(_m.status == "streaming", _m.user_email == bindparam("owner"))
        .limit(bindparam("most", type_=BigInteger))
        .subquery("running")
    )
)
_ASKED_TO_STOP = Prepared(select(_s.message_id).where(_s.owner == bindparam("owner")))


def new_lease(owner: str | None) -> dict[str, Any]:
    """The columns of an answer that `owner` begins to write; None: a script, which can't renew a lease."""
    return {"owner": owner, "lease_until": None if owner is None else store_time(seconds=LEASE_SECONDS)}


def inserted_lease(owner: str | None) -> dict[str, Any]:
    """`new_lease` as parameters of an insert that sets `lease_until` to LEASE_UNTIL."""
    return {"owner": owner, "is_leased": int(owner is not None)}


def renew_leases(connection: Connection, *, owner: str) -> None:
    """Let all running turns of `owner` be taken as alive for `LEASE_SECONDS` from now on."""
    _RENEW.run(connection, process=owner)


def abandoned(*, asking: str) -> ColumnElement[bool]:
    """The running turns of other owners than `asking` whose lease has ended."""
    return (_m.status == "streaming") & (_m.owner != asking) & (_m.lease_until < store_time())


def events_beyond(*, database: Database, positions: Mapping[str, int], most: int) -> list[tuple[str, int, bytes]]:
    """The events (message_id, seq, event) beyond each stream's position, in order, by one statement.

    positions: the number of the last event that is known, by the message id of the stream. At most `most` events: what
    is left of some streams comes with the next call.
    """
    if not positions:
        return []
    known = values(column("stream", Text), column("position", BigInteger)).data(list(positions.items())).cte("known")
    query = (
        select(_e.message_id, _e.seq, _e.event)
        .join(known, (_e.message_id == known.c.stream) & (_e.seq > known.c.position))
        .order_by(_e.message_id, _e.seq)
        .limit(most)
    )
    with database.reading() as connection:
        return [(row.message_id, row.seq, bytes(row.event)) for row in connection.execute(query)]


def still_written(*, database: Database, message_ids: Collection[str]) -> set[str]:
    """Which of these answers are being written."""
    query = select(_m.message_id).where(_m.message_id.in_(message_ids), _m.status == "streaming")
    with database.reading() as connection:
        return set(connection.execute(query).scalars())


def running_turns(connection: Connection, *, user_email: str, most: int) -> Callable[[], int]:
    """Asks how many answers are being written for a person, whatever process writes them; the answer is read later.

    most: no more are counted. Turns that the same transaction has accepted since it was asked count, too, whosever they
    are: where a person may begin no more by that, each is accepted in a transaction of its own.
    """
    rows = _RUNNING.asked(connection, owner=user_email, most=most)
    before = _accepted(connection)
    return lambda: int(rows()[0][0]) + _accepted(connection) - before


def note_accepted(connection: Connection) -> None:
    """A turn was accepted in this transaction."""
    connection.info[_ACCEPTED] = _accepted(connection) + 1


def _accepted(connection: Connection) -> int:
    return int(connection.info.get(_ACCEPTED, 0))


def ask_to_stop(*, database: Database, asking: str, user_email: str, conversation_id: str | None = None) -> set[str]:
    """Ask other processes than `asking` to stop what they write for a person; whom (owners).

    conversation_id: in this conversation alone.
    """
    where = [] if conversation_id is None else [_m.conversation_id == conversation_id]
    query = select(_m.message_id, _m.owner).where(
        _m.status == "streaming", _m.user_email == user_email, _m.owner != asking, *where
    )
    with database.reading() as connection:
        if connection.execute(query).first() is None:
            return set()

    def ask(connection: Connection) -> set[str]:
        running = {row.message_id: row.owner for row in connection.execute(query)}
        asked = set(connection.execute(select(_s.message_id).where(_s.message_id.in_(running))).scalars())
        new = [{"message_id": each, "owner": owner} for each, owner in running.items() if each not in asked]
        insert_rows(connection, stop_requests, new)
        return set(running.values())

    return database.write(ask, urgency=Urgency.STREAM)


def take_stop_requests(*, database: Database, owner: str) -> set[str]:
    """The answers that `owner` was asked to stop since the last call."""
    with database.reading() as connection:
        asked = {message_id for (message_id,) in _ASKED_TO_STOP.rows(connection, owner=owner)}
    if asked:
        done = delete(stop_requests).where(_s.message_id.in_(asked))
        database.write(lambda connection: connection.execute(done).rowcount, urgency=Urgency.STREAM)
    return asked
