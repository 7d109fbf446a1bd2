"""Activities: everything that happens, in one order; short ids and threads are given at birth."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, filterfalse
from typing import Any

from sqlalchemy import Connection, Row, Text, bindparam, insert, select, update

from database.engine.clock import now_iso
from database.engine.database import Database, Urgency
from database.engine.statements import Prepared

from .changes import MEMORY, ChangeType, record
from .errors import MessageNotFoundError, ThreadMismatchError, ThreadNotFoundError
from .schema import activities, threads

_SHORT_ID_LENGTHS = (6, 8, 12, 32)
_COMMON = ("user_email", "conversation_id")
_OWN = (
    "activity_id",
    "recipe",
    "type",
    "short_id",
    "reply_to_id",
    "thread_id",
    "actor_type",
    "actor_id",
    "actor_name",
    "payload",
    "created_at",
)
_AT_ONCE = 50
"""So many are one statement: more would be more parameters than some databases take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an activity stands: what it replies to, and in which thread; None for neither."""

    reply_to_id: str | None = None
    thread_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewActivity:
    """An activity about to be stored. `actor_type` is user, assistant, agent or system."""

    recipe: str
    type: str
    actor_type: str
    actor_id: str
    actor_name: str
    created_at: str
    place: Place = Place()
    payload: dict[str, Any] = field(default_factory=dict)
    activity_id: str = field(default_factory=lambda: str(uuid.uuid4()))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredActivity:
    """What the store gave an activity: its place in the order of everything, and its short id."""

    seq: int
    activity_id: str
    short_id: str


def insert_activities(
    connection: Connection, born: Sequence[NewActivity], *, user_email: str, conversation_id: str
) -> list[StoredActivity]:
    """Store activities of one conversation, in this order."""
    stored: list[StoredActivity] = []
    for start in range(0, len(born), _AT_ONCE):
        stored += _insert(
            connection, born[start : start + _AT_ONCE], user_email=user_email, conversation_id=conversation_id
        )
    return stored


def allocate_short_ids(connection: Connection, activity_ids: Sequence[str], *, conversation_id: str) -> list[str]:
    """A short id for each uuid, free in this conversation: its last 6 hex digits, or 8, 12, 32 where they are taken."""
    candidates = [_short_ids_of(activity_id) for activity_id in activity_ids]
    wanted = list(chain(*candidates))
    named = {f"wanted_{number}": short_id for number, short_id in enumerate(wanted)}
    taken = {short_id for (short_id,) in _taken(len(wanted)).rows(connection, conversation=conversation_id, **named)}
    given = []
    for its_own in candidates:
        short_id = next(filterfalse(taken.__contains__, its_own))
        taken.add(short_id)
        given.append(short_id)
    return given


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


def _insert(
    connection: Connection, born: Sequence[NewActivity], *, user_email: str, conversation_id: str
) -> Iterator[StoredActivity]:
    short_ids = allocate_short_ids(connection, [new.activity_id for new in born], conversation_id=conversation_id)
    common = {"user_email": user_email, "conversation_id": conversation_id}
    values: dict[str, Any] = {}
    for number, (new, short_id) in enumerate(zip(born, short_ids, strict=True)):
        row = {
            f"activity_id_{number}": new.activity_id,
            f"recipe_{number}": new.recipe,
            f"type_{number}": new.type,
            f"short_id_{number}": short_id,
            f"reply_to_id_{number}": new.place.reply_to_id,
            f"thread_id_{number}": new.place.thread_id,
            f"actor_type_{number}": new.actor_type,
            f"actor_id_{number}": new.actor_id,
            f"actor_name_{number}": new.actor_name,
            f"payload_{number}": new.payload,
            f"created_at_{number}": new.created_at,
        }
        values |= row
    numbers: dict[str, int] = dict(_inserting(len(born)).rows(connection, **common, **values))
    for new, short_id in zip(born, short_ids, strict=True):
        yield StoredActivity(seq=numbers[new.activity_id], activity_id=new.activity_id, short_id=short_id)


@cache
def _inserting(count: int) -> Prepared:
    common = {name: bindparam(name, type_=activities.c[name].type) for name in _COMMON}
    rows = [
        common | {name: bindparam(f"{name}_{number}", type_=activities.c[name].type) for name in _OWN}
        for number in range(count)
    ]
    # Told of each row which one it is: a database need not return them in the order in which they were given.
    return Prepared(insert(activities).values(rows).returning(activities.c.activity_id, activities.c.seq))


@cache
def _taken(count: int) -> Prepared:
    wanted = [bindparam(f"wanted_{number}", type_=Text) for number in range(count)]
    in_conversation = activities.c.conversation_id == bindparam("conversation", type_=Text)
    return Prepared(select(activities.c.short_id).where(in_conversation, activities.c.short_id.in_(wanted)))


def _short_ids_of(activity_id: str) -> list[str]:
    digits = activity_id.replace("-", "").lower()
    return [digits[-length:] for length in _SHORT_ID_LENGTHS]


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


_CHANGE_OF_ACTION: Mapping[str, ChangeType] = {"add": "created", "delete": "gone"}


def store_changes(*, database: Database, user_email: str, changes: Sequence[dict[str, Any]]) -> int:
    """Store changes of `user_email`'s memories as activities; how many were new.

    Each is `{id, action, object_type, object_id, title, detail, claim_ids, created_at}`; its id becomes the
    activity's. They stand in a room of their own, beside the conversations.
    """

    def job(connection: Connection) -> int:
        ids = [change["id"] for change in changes]
        known = set(
            connection.execute(select(activities.c.activity_id).where(activities.c.activity_id.in_(ids))).scalars()
        )
        fresh = [change for change in changes if change["id"] not in known]
        born = [_activity(user_email, change) for change in fresh]
        insert_activities(connection, born, user_email=user_email, conversation_id=_room(user_email))
        for new in fresh:
            fields = {name: new[name] for name in ("object_type", "action", "claim_ids")} | {"audit_id": new["id"]}
            change = _CHANGE_OF_ACTION.get(new["action"], "changed")
            record(connection, MEMORY, change, user_email=user_email, ids=[new["object_id"] or ""], fields=fields)
        return len(born)

    return database.write(job, urgency=Urgency.INDEX)


def blank_changes(*, database: Database, ids: Sequence[str]) -> None:
    """Take titles and details out of the activities of these changes; their kind and time stay."""

    def job(connection: Connection) -> None:
        theirs = activities.c.activity_id.in_(ids)
        rows = connection.execute(select(activities.c.seq, activities.c.payload).where(theirs)).all()
        for row in rows:
            blank = {**row.payload, "title": "", "detail": {}}
            connection.execute(update(activities).where(activities.c.seq == row.seq).values(payload=blank))

    database.write(job, urgency=Urgency.INDEX)


def _room(user_email: str) -> str:
    return f"{user_email}_knowledge"


def _activity(user_email: str, change: dict[str, Any]) -> NewActivity:
    payload = {name: change[name] for name in ("action", "object_type", "object_id", "title", "detail")}
    return NewActivity(
        recipe="knowledge",
        type="pkb_change",
        actor_type="user",
        actor_id=user_email,
        actor_name="You",
        created_at=change["created_at"],
        payload=payload,
        activity_id=change["id"],
    )
