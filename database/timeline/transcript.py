"""The activities of a conversation: those that stand between its messages, and all of them as they come."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from database.activities.reading import NEWEST, Activity, live_activities, live_activities_in, read_activities
from database.conversations.conversation import access_head
from database.engine.database import Database
from database.engine.errors import MessageNotFoundError
from database.messages.message import live_in
from database.messages.unkept import is_unkept
from database.schema import IS_NO_MESSAGE, activities, messages

_a, _m = activities.c, messages.c
_AT_ONCE = 200


def placed_activities(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    first_message_id: str | None = None,
    last_message_id: str | None = None,
    before: int | None = None,
    limit: int,
) -> list[tuple[Activity, str | None]]:
    """The newest live activities of a conversation that are no messages, in order.

    Each with the id of the live message that it stands behind; None at the beginning.

    first_message_id, last_message_id: only activities behind the one and before the other. before: only activities
    whose `seq` is smaller.
    Raises ConversationNotFoundError, MessageNotFoundError.
    """
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        first = 0 if first_message_id is None else _seq_of(connection, conversation_id, first_message_id)
        last = NEWEST if last_message_id is None else _seq_of(connection, conversation_id, last_message_id)
        last = last if before is None else min(last, before)
        here = live_activities_in(conversation_id, user_email=user_email)
        between = here.where(IS_NO_MESSAGE, _a.seq > first, _a.seq < last).order_by(_a.seq.desc()).limit(limit)
        found = read_activities(connection, between)[::-1]
        if not found:
            return []
        told = _m.seq.between(first, found[-1].seq)
        places = connection.execute(select(_m.seq, _m.message_id).where(live_in(conversation_id), told)).all()
    ordered = sorted((row.seq, row.message_id) for row in places)
    return [(each, _before(ordered, each.seq)) for each in found]


def _seq_of(connection: Connection, conversation_id: str, message_id: str) -> int:
    seq = connection.execute(
        select(_m.seq).where(_m.message_id == message_id, _m.conversation_id == conversation_id)
    ).scalar()
    if seq is None:
        raise MessageNotFoundError
    return int(seq)


def _before(ordered: Sequence[tuple[int, str]], seq: int) -> str | None:
    place = bisect_left(ordered, (seq, ""))
    return ordered[place - 1][1] if place else None


class Arrivals(NamedTuple):
    """Where a reader of a conversation is.

    activities: that came since, in order. after: `seq` of the last activity that was looked at. unfinished: `seq` of
    answers that are still being written.
    """

    activities: Sequence[Activity]
    after: int
    unfinished: frozenset[int]


def newest_seq(*, database: Database, user_email: str, conversation_id: str) -> int:
    """`seq` of the newest activity of a conversation, 0 for none. Raises ConversationNotFoundError."""
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        newest = select(func.max(_a.seq)).where(_a.conversation_id == conversation_id)
        return int(connection.execute(newest).scalar() or 0)


def read_arrivals(
    *, database: Database, user_email: str, conversation_id: str, after: int, unfinished: Collection[int]
) -> Arrivals:
    """What came after `after`, of at most 200 activities at once, and those of `unfinished` that are complete now.

    All 200 may be deleted, or on other branches: there may be more to come while `after` grows.
    Raises ConversationNotFoundError, also when the conversation is deleted meanwhile.
    """
    came = select(_a.seq).where(_a.conversation_id == conversation_id, _a.seq > after)
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        # Apart: asked for the first of them, SQLite would walk through all activities of the person.
        seqs = sorted(connection.execute(came).scalars())[:_AT_ONCE]
        these = live_activities(user_email).where(_a.seq.in_([*seqs, *unfinished]))
        found = read_activities(connection, these.order_by(_a.seq)) if seqs or unfinished else []
        said = select(_m.seq, _m.status, _m.config).where(_m.seq.in_([each.seq for each in found]))
        rows = {row.seq: row for row in connection.execute(said)}
    writing = {seq for seq, row in rows.items() if row.status == "streaming"}
    unkept = {seq for seq, row in rows.items() if is_unkept(row.config)}
    return Arrivals(
        activities=[each for each in found if each.seq not in writing | unkept],
        after=max([after, *seqs[-1:]]),
        unfinished=frozenset(writing - unkept),
    )


def activity_with_id(*, database: Database, user_email: str, activity_id: str) -> Activity | None:
    """The live activity of this uuid, if it is the person's."""
    with database.reading() as connection:
        found = read_activities(connection, live_activities(user_email).where(_a.activity_id == activity_id))
    return found[0] if found else None
