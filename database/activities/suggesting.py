"""Suggesting activities to a person who types a short id, or a word of what they mean."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Text, and_, cast, or_, select, true

from database.engine.database import Database
from database.schema import activities, messages

from .reading import Activity, live_activities, live_activities_in, read_activities

_a, _m = activities.c, messages.c
_SHORTEST_WORD = 2
_MOST_BEGUN = 1_000


def suggest_activities(
    *, database: Database, user_email: str, typed: str, conversation_id: str | None, limit: int
) -> list[Activity]:
    """At most `limit` activities that `typed` may mean: the newest of this conversation, then of its threads, then any.

    typed: the beginning of a short id, without its `#`; then a part of the text, payload or type, which is looked for
    in this conversation and its threads alone. "": the newest ones there.
    """
    typed = typed.lower()
    found: list[Activity] = []
    with database.reading() as connection:
        near = list(_near(connection, conversation_id, user_email=user_email)) if conversation_id else []

        def take(means: ColumnElement[bool]) -> None:
            for place in near:
                if (left := limit - len(found)) > 0:
                    others = place.where(means, _a.seq.not_in([each.seq for each in found]))
                    found.extend(read_activities(connection, others.order_by(_a.seq.desc()).limit(left)))

        if not typed:
            take(true())
        if _is_beginning(typed):
            take(_begins_with(typed))
            if (left := limit - len(found)) > 0:
                found += _anywhere(connection, typed, user_email=user_email, known=found, limit=left)
        if len(typed) >= _SHORTEST_WORD:
            take(_says(typed))
    return found


def _anywhere(
    connection: Connection, typed: str, *, user_email: str, known: Sequence[Activity], limit: int
) -> list[Activity]:
    """Others of the person's whose short id begins with `typed`, among the newest thousand of these."""
    begun = select(_a.seq).where(_a.user_email == user_email, _begins_with(typed))
    # Apart: asked for the newest of them, SQLite would walk through all activities from the newest on.
    seqs = sorted(connection.execute(begun).scalars(), reverse=True)[:_MOST_BEGUN]
    others = set(seqs) - {each.seq for each in known}
    if not others:
        return []
    query = live_activities(user_email).where(_a.seq.in_(others)).order_by(_a.seq.desc()).limit(limit)
    return read_activities(connection, query)


def _near(connection: Connection, conversation_id: str, *, user_email: str) -> Iterator[Select[Any]]:
    """The activities of this conversation, then the others of its threads."""
    yield live_activities_in(conversation_id, user_email=user_email)
    in_threads = select(_a.thread_id).where(_a.conversation_id == conversation_id, _a.thread_id.is_not(None))
    # Apart: within the query, SQLite would walk through all activities from the newest on.
    threads = connection.execute(in_threads.distinct()).scalars().all()
    if threads:
        is_elsewhere = _a.conversation_id != conversation_id
        yield live_activities(user_email).where(is_elsewhere, _a.thread_id.in_(threads))


def _is_beginning(typed: str) -> bool:
    return bool(typed) and set(typed) <= set(string.hexdigits)


def _begins_with(typed: str) -> ColumnElement[bool]:
    """By a range, which an index serves: "g" follows all hexadecimal digits."""
    return and_(_a.short_id >= typed, _a.short_id < f"{typed}g")


def _says(typed: str) -> ColumnElement[bool]:
    said = (_m.text, _a.type, cast(_a.payload, Text))
    return or_(*(each.icontains(typed, autoescape=True) for each in said))
