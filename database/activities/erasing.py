"""Erasing activities. What others still refer to leaves an empty row behind, shown as deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, func, or_, select, update

from database.engine.clock import now_iso
from database.schema import activities, conversations, former_short_ids, inbox_items, threads

_a, _t = activities.c, threads.c
_reply = activities.alias("reply")
_member = activities.alias("member")
# A statement holds at most 32,766 parameters.
_AT_ONCE = 10_000
_BLANK: dict[str, Any] = {
    "payload": {},
    "actor_id": "",
    "actor_name": "",
    "session_id": None,
    "reply_to_id": None,
    "thread_id": None,
}


def erase_activities(connection: Connection, seqs: Sequence[int]) -> None:
    """Erase these activities, and the threads of which nothing is left.

    A reply that stays needs its parent, and a thread its root: these keep their ids alone. Erase replies before their
    parents, the newest activities first.
    """
    if not seqs:
        return
    these = _a.seq.in_(seqs)
    rows = connection.execute(select(_a.activity_id, _a.reply_to_id, _a.thread_id, _a.user_email).where(these)).all()
    ids = [row.activity_id for row in rows]
    connection.execute(delete(activities).where(these, ~_is_needed(but=seqs)))
    for table in (inbox_items, former_short_ids):
        connection.execute(delete(table).where(table.c.activity_id.in_(ids)))
    blank = {**_BLANK, "deleted_at": func.coalesce(_a.deleted_at, now_iso())}
    connection.execute(update(activities).where(these).values(blank))
    _erase_empty_threads(connection, {row.thread_id for row in rows if row.thread_id is not None}, ids)
    _erase_unneeded(connection, [*ids, *(row.reply_to_id for row in rows if row.reply_to_id is not None)])


def erase_blanks(connection: Connection, activity_ids: Sequence[str], *, user_email: str) -> None:
    """Erase the empty rows that a person's erased conversations left behind with these ids, which come back."""
    in_conversation = exists().where(conversations.c.conversation_id == _a.conversation_id)
    blank = (_a.user_email == user_email) & _a.deleted_at.is_not(None) & (_a.actor_id == "") & ~in_conversation
    for start in range(0, len(activity_ids), _AT_ONCE):
        connection.execute(delete(activities).where(_a.activity_id.in_(activity_ids[start : start + _AT_ONCE]), blank))


def _is_needed(*, but: Sequence[int]) -> ColumnElement[bool]:
    """Whether an activity is the parent or the root of activities other than these."""
    reply = exists().where(_reply.c.reply_to_id == _a.activity_id, _reply.c.seq.not_in(but))
    member = exists().where(
        _t.root_activity_id == _a.activity_id,
        _member.c.user_email == _t.user_email,
        _member.c.thread_id == _t.thread_id,
        _member.c.seq.not_in(but),
    )
    return or_(reply, member)


def _erase_empty_threads(connection: Connection, thread_ids: set[str], roots: Sequence[str]) -> None:
    left = exists().where(_member.c.user_email == _t.user_email, _member.c.thread_id == _t.thread_id)
    found = select(_t.thread_id, _t.root_activity_id).where(
        or_(_t.thread_id.in_(thread_ids), _t.root_activity_id.in_(roots)), ~left
    )
    empty = connection.execute(found).all()
    connection.execute(delete(threads).where(_t.thread_id.in_([row.thread_id for row in empty])))
    _erase_unneeded(connection, [row.root_activity_id for row in empty])


def _erase_unneeded(connection: Connection, activity_ids: Sequence[str]) -> None:
    """Erase those of these activities that are empty rows of erased conversations, and that nothing needs any more."""
    in_conversation = exists().where(conversations.c.conversation_id == _a.conversation_id)
    gone = _a.activity_id.in_(activity_ids) & _a.deleted_at.is_not(None) & ~in_conversation
    connection.execute(delete(activities).where(gone, ~_is_needed(but=())))
