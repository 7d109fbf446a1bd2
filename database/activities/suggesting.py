"""Suggesting activities to a person who types a short id, or a word of what they mean."""

from __future__ import annotations

import string

from sqlalchemy import ColumnElement, Text, and_, cast, false, not_, or_, select, true

from database.engine.database import Database
from database.schema import activities, messages

from .reading import Activity, live_activities, read_activities

_a, _m = activities.c, messages.c
_SHORTEST_WORD = 2


def suggest_activities(
    *, database: Database, user_email: str, typed: str, conversation_id: str | None, limit: int
) -> list[Activity]:
    """At most `limit` activities that `typed` may mean: the newest of this conversation, then of its threads, then any.

    typed: the beginning of a short id, without its `#`; or a part of the text, payload or type, which is looked for in
    this conversation and its threads alone. "": the newest ones there.
    """
    typed = typed.lower()
    found: list[Activity] = []
    with database.reading() as connection:
        for which in _places(typed, user_email=user_email, conversation_id=conversation_id):
            left = limit - len(found)
            if left <= 0:
                break
            query = live_activities(user_email).where(which).order_by(_a.seq.desc()).limit(left)
            found += read_activities(connection, query)
    return found


def _places(typed: str, *, user_email: str, conversation_id: str | None) -> list[ColumnElement[bool]]:
    """Which activities are looked at, one place after another; none is in two of them."""
    is_here = _a.conversation_id == conversation_id
    threads = select(_a.thread_id).where(_a.user_email == user_email, is_here, _a.thread_id.is_not(None))
    is_in_thread = and_(_a.thread_id.is_not(None), _a.thread_id.in_(threads.correlate(None)))
    near = [is_here, and_(not_(is_here), is_in_thread)] if conversation_id else []
    places = [and_(each, _means(typed)) for each in near] if typed else near
    if _is_beginning(typed):
        is_anywhere_else = not_(or_(is_here, is_in_thread)) if conversation_id else true()
        places.append(and_(_begins_with(typed), is_anywhere_else))
    return places


def _is_beginning(typed: str) -> bool:
    return bool(typed) and set(typed) <= set(string.hexdigits)


def _begins_with(typed: str) -> ColumnElement[bool]:
    """By a range, which an index serves: "g" follows all hexadecimal digits."""
    return and_(_a.short_id >= typed, _a.short_id < f"{typed}g")


def _means(typed: str) -> ColumnElement[bool]:
    ways = [_begins_with(typed)] if _is_beginning(typed) else []
    if len(typed) >= _SHORTEST_WORD:
        said = (_m.text, _a.type, cast(_a.payload, Text))
        ways += [each.icontains(typed, autoescape=True) for each in said]
    return or_(*ways) if ways else false()
