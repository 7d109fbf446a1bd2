"""New ids for the activities and threads of an imported file, where another person's have those of the file."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, select

from database.engine.errors import ConflictError
from database.schema import activities, threads
from sentences import say

from .storing import NewActivity, Place

# A statement holds at most 32,766 parameters.
_AT_ONCE = 10_000
_COPIES = uuid.UUID("6f0d3a52-8a1c-4c1e-9b77-2f4d5f1f7c90")
_WORDS = "text"
"""The field of messages and their versions that holds what somebody wrote: it stays as it is."""


def ids_of_others(
    connection: Connection, *, activity_ids: Sequence[str], thread_ids: Sequence[str], user_email: str
) -> dict[str, str]:
    """A new id for each of these that an activity or a thread of another person has, by the id of the file.

    A thread may go through several files. Raises ConflictError where an activity is this person's own.
    """
    own, new_ids = ids_in_use(connection, activity_ids=activity_ids, thread_ids=thread_ids, user_email=user_email)
    if not own.isdisjoint(activity_ids):
        raise ConflictError(say("file_is_here_already"))
    return new_ids


def ids_in_use(
    connection: Connection, *, activity_ids: Sequence[str], thread_ids: Sequence[str], user_email: str
) -> tuple[set[str], dict[str, str]]:
    """Those of these ids that are this person's own, and a new id for each that another person has.

    The new id is always the same one, so that a file that comes in again is known.
    """
    own, new_ids = set[str](), dict[str, str]()
    for table, column, names in (
        (activities, activities.c.activity_id, activity_ids),
        (threads, threads.c.thread_id, thread_ids),
    ):
        for start in range(0, len(names), _AT_ONCE):
            known = select(column, table.c.user_email).where(column.in_(names[start : start + _AT_ONCE]))
            for name, owner in connection.execute(known):
                if owner == user_email:
                    own.add(name)
                else:
                    new_ids[name] = id_of_copy(name, user_email)
    return own, new_ids


def ids_known(
    connection: Connection, *, activity_ids: Sequence[str], thread_ids: Sequence[str], user_email: str
) -> tuple[set[str], dict[str, str]]:
    """Which activities and threads are here, by their ids here, and the new ids of those that another person has."""
    known, new_ids = ids_in_use(connection, activity_ids=activity_ids, thread_ids=thread_ids, user_email=user_email)
    activities_again = [new_ids[each] for each in activity_ids if each in new_ids]
    threads_again = [new_ids[each] for each in thread_ids if each in new_ids]
    again, _ = ids_in_use(connection, activity_ids=activities_again, thread_ids=threads_again, user_email=user_email)
    return known | again, new_ids


def id_of_copy(name: str, user_email: str) -> str:
    """The id that an activity or a thread gets in an account, where another person has the one of the file."""
    return str(uuid.uuid5(_COPIES, f"{user_email} {name}"))


def renamed_activity(activity: NewActivity, new_ids: Mapping[str, str]) -> NewActivity:
    """The activity, naming itself and others by their new ids. It brings its short id along."""
    place = activity.place
    return replace(
        activity,
        activity_id=new_ids.get(activity.activity_id, activity.activity_id),
        place=Place(
            reply_to_id=place.reply_to_id and new_ids.get(place.reply_to_id, place.reply_to_id),
            thread_id=place.thread_id and new_ids.get(place.thread_id, place.thread_id),
        ),
        payload=renamed(activity.payload, new_ids),
    )


def renamed(value: Any, new_ids: Mapping[str, str]) -> Any:
    """The JSON value with new ids in place of the former, at any depth; a text is never changed."""
    if isinstance(value, str):
        return new_ids.get(value, value)
    if isinstance(value, Mapping):
        return {name: each if name == _WORDS else renamed(each, new_ids) for name, each in value.items()}
    return [renamed(each, new_ids) for each in value] if isinstance(value, list) else value
