"""What stands between the messages of a conversation: its other activities, each with its place."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from sqlalchemy import Connection, select

from database.activities.reading import NEWEST, Activity, live_activities_in, read_activities
from database.conversations.conversation import access_head
from database.engine.database import Database
from database.engine.errors import MessageNotFoundError
from database.messages.message import live_in
from database.schema import IS_NO_MESSAGE, activities, messages

_a, _m = activities.c, messages.c


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
