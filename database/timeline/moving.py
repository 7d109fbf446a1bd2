"""Moving an activity that is no message to another conversation of its owner."""

from __future__ import annotations

from functools import partial
from typing import Any

from sqlalchemy import Connection, and_, delete, insert, select, update

from database.activities.reading import Activity, find_activity, live_activities, read_activities
from database.activities.storing import short_id_in
from database.changes import ACTIVITY, record
from database.conversations.conversation import access_head
from database.engine.database import Database
from database.engine.errors import InvalidChangeError, MessageNotMovableError
from database.schema import activities, former_short_ids, message_references
from sentences import say

_a, _f, _r = activities.c, former_short_ids.c, message_references.c


def move_activity(
    *, database: Database, user_email: str, reference: str, conversation_id: str, near: str | None = None
) -> Activity:
    """Move an activity to this conversation, and return the activity as it is then.

    Its thread, its replies, what it replies to and its `seq` stay: between the messages of the conversation it stands
    where its time puts it. It keeps its short id, unless another activity has that in the conversation; what was
    written in the conversation that it left means it still. Inboxes get nothing by a move: it is no new activity.

    reference, near: as `find_activity` takes a reference and the conversation in which it was read.
    Raises ActivityNotFoundError, AmbiguousReferenceError, ConversationNotFoundError, MessageNotMovableError,
    InvalidChangeError (nothing of this conversation is kept).
    """
    job = partial(_move, user_email=user_email, reference=reference, target=conversation_id, near=near)
    return database.write(job)


def _move(connection: Connection, *, user_email: str, reference: str, target: str, near: str | None) -> Activity:
    moved = find_activity(connection, user_email=user_email, reference=reference, conversation_id=near)
    head = access_head(connection, user_email=user_email, conversation_id=target)
    if moved.is_message:
        raise MessageNotMovableError
    if head.stateless:
        raise InvalidChangeError(say("nothing_posted_unkept"))
    if moved.conversation_id == target:
        return moved
    short_id = _own_again(connection, moved, target) or short_id_in(
        connection, target, activity_id=moved.activity_id, short_id=moved.short_id
    )
    this = _a.seq == moved.seq
    connection.execute(update(activities).where(this).values(conversation_id=target, short_id=short_id))
    _remember(connection, moved)
    _redirect(connection, moved, target)
    after = read_activities(connection, live_activities(user_email, activity_id=moved.activity_id))[0]
    _tell(connection, moved, after)
    return after


def _own_again(connection: Connection, moved: Activity, target: str) -> str | None:
    """The short id that the activity had in this conversation before it left; None where it never was there."""
    own = and_(_f.conversation_id == target, _f.activity_id == moved.activity_id)
    short_id: str | None = connection.execute(select(_f.short_id).where(own)).scalar()
    connection.execute(delete(former_short_ids).where(own))
    return short_id


def _remember(connection: Connection, moved: Activity) -> None:
    connection.execute(
        insert(former_short_ids).values(
            conversation_id=moved.conversation_id,
            short_id=moved.short_id,
            activity_id=moved.activity_id,
            user_email=moved.user_email,
        )
    )


def _redirect(connection: Connection, moved: Activity, target: str) -> None:
    """Let the references to the activity lead to where it is now."""
    to_it = and_(
        _r.user_email == moved.user_email,
        _r.target_conversation_id == moved.conversation_id,
        _r.target_id == moved.activity_id,
    )
    connection.execute(update(message_references).where(to_it).values(target_conversation_id=target))


def _tell(connection: Connection, before: Activity, after: Activity) -> None:
    names = ("recipe", "type", "short_id", "reply_to_id", "thread_id")
    own: dict[str, Any] = {"user_email": after.user_email, "ids": [after.activity_id]}
    left = {name: getattr(before, name) for name in names} | {"moved_to": after.conversation_id}
    arrived = {name: getattr(after, name) for name in names} | {"moved_from": before.conversation_id}
    record(connection, ACTIVITY, "gone", **own, conversation_id=before.conversation_id, fields=left)
    record(connection, ACTIVITY, "changed", **own, conversation_id=after.conversation_id, fields=arrived)
