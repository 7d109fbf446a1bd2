"""What happened while a question was answered: where it stands, and that it goes with the answer."""

from __future__ import annotations

from sqlalchemy import Connection, and_, select, update

from database.messages.message import MessageRow
from database.schema import IS_NO_MESSAGE, activities, messages

from .storing import Place

_a = activities.c


def place_below_question(connection: Connection, answer_id: str) -> Place:
    """The place of what happened while a question was answered."""
    query = (
        select(messages.c.in_answer_to, activities.c.thread_id)
        .outerjoin(activities, activities.c.activity_id == messages.c.in_answer_to)
        .where(messages.c.message_id == answer_id)
    )
    question, thread_id = connection.execute(query).one()
    return Place(reply_to_id=question, thread_id=thread_id)


def mark_calls_deleted(connection: Connection, message: MessageRow, *, deleted_at: str | None) -> None:
    """Let the activities of an answer's tool calls go with the answer; None: they come back with it."""
    if message.in_answer_to is None:
        return
    calls = and_(
        _a.reply_to_id == message.in_answer_to,
        IS_NO_MESSAGE,
        _a.payload["part_id"].as_integer().is_not(None),
        _a.payload["message_id"].as_string() == message.message_id,
    )
    connection.execute(update(activities).where(calls).values(deleted_at=deleted_at))
