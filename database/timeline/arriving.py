"""The activities of a conversation as they come: answers when they are complete."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import func, select

from database.activities.reading import Activity, live_activities, read_activities
from database.conversations.conversation import access_head
from database.engine.database import Database
from database.messages.unkept import is_unkept
from database.schema import activities, messages

_a, _m = activities.c, messages.c
_AT_ONCE = 200


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
