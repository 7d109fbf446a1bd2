"""Threads: which activities belong together, over all domains and conversations."""

from __future__ import annotations

import uuid
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from database.engine.clock import now_iso
from database.errors import MessageNotFoundError, ThreadMismatchError, ThreadNotFoundError
from database.schema import activities, threads

from .storing import Place


def find_place(
    connection: Connection,
    *,
    user_email: str,
    conversation_id: str,
    reply_to: str | None,
    thread_id: str | None,
    may_open_thread: bool = True,
) -> Place:
    """Where a new activity stands that replies to `reply_to` or joins `thread_id`.

    reply_to: an activity id or short id of this conversation.

    A reply to an activity without a thread makes one, with that activity as its root, if it may.
    Raises MessageNotFoundError, ThreadNotFoundError, and ThreadMismatchError when `thread_id` is not the thread of the
    parent.
    """
    if reply_to is None:
        if thread_id is not None:
            _access_thread(connection, user_email=user_email, thread_id=thread_id)
        return Place(thread_id=thread_id)
    parent = _find_parent(connection, user_email=user_email, conversation_id=conversation_id, reply_to=reply_to)
    if thread_id is not None and thread_id != parent.thread_id:
        raise ThreadMismatchError("The message you reply to belongs to another thread.")
    thread = parent.thread_id
    if thread is None and may_open_thread:
        thread = open_thread(connection, user_email=user_email, root_activity_id=parent.activity_id)
        connection.execute(update(activities).where(activities.c.seq == parent.seq).values(thread_id=thread))
    return Place(reply_to_id=parent.activity_id, thread_id=thread)


def _find_parent(
    connection: Connection, *, user_email: str, conversation_id: str, reply_to: str
) -> Row[*tuple[Any, ...]]:
    named = reply_to.strip().removeprefix("#").lower()
    parent = connection.execute(
        select(activities.c.seq, activities.c.activity_id, activities.c.thread_id).where(
            activities.c.user_email == user_email,
            activities.c.conversation_id == conversation_id,
            (activities.c.activity_id == named) | (activities.c.short_id == named),
            activities.c.deleted_at.is_(None),
        )
    ).one_or_none()
    if parent is None:
        raise MessageNotFoundError("There is no such message to reply to.")
    return parent


def _access_thread(connection: Connection, *, user_email: str, thread_id: str) -> None:
    query = select(threads.c.thread_id).where(threads.c.user_email == user_email, threads.c.thread_id == thread_id)
    if connection.execute(query).one_or_none() is None:
        raise ThreadNotFoundError


def open_thread(connection: Connection, *, user_email: str, root_activity_id: str) -> str:
    """Store a thread with this root, whose own row the caller puts into it; the thread's id."""
    thread_id = str(uuid.uuid4())
    connection.execute(
        insert(threads).values(
            thread_id=thread_id, user_email=user_email, root_activity_id=root_activity_id, created_at=now_iso()
        )
    )
    return thread_id
