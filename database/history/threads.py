"""Threads: which activities belong together, over all domains and conversations."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, insert, select, update

from database.activities.reading import (
    Activity,
    find_activity,
    kept,
    own_activities,
    read_activities,
    seen,
    with_conversation,
)
from database.activities.storing import Place
from database.changes import THREAD, record
from database.conversations.conversation import access_head
from database.engine.clock import now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import ThreadMismatchError, ThreadNotFoundError
from database.schema import activities, threads

_a, _t = activities.c, threads.c
MOST_THREADS = 200
# A statement holds at most 32,766 parameters.
_AT_ONCE = 10_000


def find_place(
    connection: Connection,
    *,
    user_email: str,
    conversation_id: str,
    reply_to: str | None,
    thread_id: str | None,
    may_open_thread: bool = True,
) -> Place:
    """Where a new activity of this conversation stands that replies to `reply_to` or joins `thread_id`.

    reply_to: as `find_activity` takes it. Raises ActivityNotFoundError, AmbiguousReferenceError, ThreadNotFoundError,
    ThreadMismatchError.
    """
    if reply_to is None:
        return place_in(connection, user_email=user_email, thread_id=thread_id)
    parent = find_activity(connection, user_email=user_email, reference=reply_to, conversation_id=conversation_id)
    return place_below(connection, parent, thread_id=thread_id, may_open_thread=may_open_thread)


def place_in(connection: Connection, *, user_email: str, thread_id: str | None) -> Place:
    """The place of an activity that replies to nothing. Raises ThreadNotFoundError."""
    if thread_id is not None:
        access_thread(connection, user_email=user_email, thread_id=thread_id)
    return Place(thread_id=thread_id)


def place_below(
    connection: Connection, parent: Activity, *, thread_id: str | None, may_open_thread: bool = True
) -> Place:
    """The place of a reply to `parent`, in its thread.

    Where the parent is in none, a thread is made with the parent as its root, if one may be. Raises
    ThreadMismatchError when `thread_id` is not the thread of the parent.
    """
    if thread_id is not None and thread_id != parent.thread_id:
        raise ThreadMismatchError("What you reply to belongs to another thread.")
    thread = parent.thread_id
    if thread is None and may_open_thread:
        thread = open_thread(connection, user_email=parent.user_email, root_activity_id=parent.activity_id)
        connection.execute(update(activities).where(_a.seq == parent.seq).values(thread_id=thread))
    return Place(reply_to_id=parent.activity_id, thread_id=thread)


def thread_of_session(connection: Connection, *, user_email: str, session_key: str, root_activity_id: str) -> str:
    """The id of the thread of this session; a new one, with this root, for the first activity of the session."""
    query = select(_t.thread_id).where(_t.user_email == user_email, _t.session_key == session_key)
    found: str | None = connection.execute(query).scalar()
    return found or open_thread(
        connection, user_email=user_email, root_activity_id=root_activity_id, session_key=session_key
    )


def open_thread(
    connection: Connection, *, user_email: str, root_activity_id: str, session_key: str | None = None
) -> str:
    """Store a thread with this root, whose own row the caller puts into it; the thread's id."""
    thread_id = str(uuid.uuid4())
    connection.execute(
        insert(threads).values(
            thread_id=thread_id,
            user_email=user_email,
            root_activity_id=root_activity_id,
            session_key=session_key,
            created_at=now_iso(),
        )
    )
    record(connection, THREAD, "created", user_email=user_email, ids=[thread_id])
    return thread_id


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadTotals:
    """What is counted of a thread's activities.

    reply_count: of those beside the root. last_reply_at: None without any. participant_ids: who did something in it, in
    order of their first activity. recipes: of the activities, in the same order.
    """

    reply_count: int = 0
    last_reply_at: str | None = None
    participant_ids: Sequence[str] = ()
    recipes: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread(ThreadTotals):
    """A thread, with the totals of its live activities.

    title: what the person named it; "" where they did not. made_title: by the cheap model; None until it was asked, ""
    where it made none.
    """

    thread_id: str
    root_activity_id: str
    title: str
    made_title: str | None
    created_at: str


def get_thread(*, database: Database, user_email: str, thread_id: str) -> Thread:
    """One thread of the person. Raises ThreadNotFoundError."""
    with database.reading() as connection:
        access_thread(connection, user_email=user_email, thread_id=thread_id)
        return _read(connection, user_email, _t.thread_id == thread_id)[0]


def list_threads(
    *, database: Database, user_email: str, conversation_id: str, limit: int = MOST_THREADS
) -> list[Thread]:
    """The threads that have a live activity in this conversation, those with the newest activities first.

    Raises ConversationNotFoundError.
    """
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        here = and_(_a.user_email == user_email, _a.conversation_id == conversation_id, _a.thread_id.is_not(None))
        newest = func.max(_a.seq)
        query = with_conversation(select(_a.thread_id)).where(here, seen()).group_by(_a.thread_id)
        ids = connection.execute(query.order_by(newest.desc()).limit(limit)).scalars().all()
        found = {each.thread_id: each for each in _read(connection, user_email, _t.thread_id.in_(ids))}
    return [found[thread_id] for thread_id in ids if thread_id in found]


def threads_with_roots(*, database: Database, user_email: str, activity_ids: Collection[str]) -> dict[str, Thread]:
    """Those of `activity_ids` that are the roots of threads, each with its thread."""
    with database.reading() as connection:
        found = _read(connection, user_email, _t.root_activity_id.in_(activity_ids))
    return {each.root_activity_id: each for each in found}


def rename_thread(*, database: Database, user_email: str, thread_id: str, title: str) -> None:
    """Name a thread; "": by its first words, until the cheap model has named it anew. Raises ThreadNotFoundError."""

    def job(connection: Connection) -> None:
        access_thread(connection, user_email=user_email, thread_id=thread_id)
        connection.execute(update(threads).where(_t.thread_id == thread_id).values(title=title, made_title=None))
        record(connection, THREAD, "changed", user_email=user_email, ids=[thread_id], fields={"title": title})

    database.write(job)


class UntitledThread(NamedTuple):
    """A thread that waits for its title. root: None where it is deleted."""

    thread_id: str
    user_email: str
    root: Activity | None


def untitled_threads(*, database: Database, but: Collection[str], limit: int) -> list[UntitledThread]:
    """The oldest threads that nobody named, and that the cheap model was not asked about; none of `but`."""
    waiting = and_(_t.made_title.is_(None), _t.title == "", _t.thread_id.not_in(but))
    query = select(_t.thread_id, _t.user_email, _t.root_activity_id).where(waiting).order_by(_t.created_at).limit(limit)
    with database.reading() as connection:
        rows = connection.execute(query).all()
        return [
            UntitledThread(thread_id, owner, _kept_root(connection, owner, root)) for thread_id, owner, root in rows
        ]


def _kept_root(connection: Connection, user_email: str, activity_id: str) -> Activity | None:
    found = read_activities(connection, own_activities(user_email).where(kept(), _a.activity_id == activity_id))
    return found[0] if found else None


def keep_made_title(*, database: Database, user_email: str, thread_id: str, title: str) -> None:
    """Keep what the cheap model named a thread, "" for nothing, unless the person has named it meanwhile."""

    def job(connection: Connection) -> None:
        untitled = and_(_t.thread_id == thread_id, _t.made_title.is_(None), _t.title == "")
        if connection.execute(update(threads).where(untitled).values(made_title=title)).rowcount and title:
            record(connection, THREAD, "changed", user_email=user_email, ids=[thread_id])

    database.write(job, urgency=Urgency.INDEX)


def access_thread(connection: Connection, *, user_email: str, thread_id: str) -> None:
    """Raises ThreadNotFoundError for a thread that is not there, or another person's."""
    query = select(_t.thread_id).where(_t.user_email == user_email, _t.thread_id == thread_id)
    if connection.execute(query).one_or_none() is None:
        raise ThreadNotFoundError


def thread_totals(*, database: Database, user_email: str, seqs: Sequence[int]) -> dict[str, ThreadTotals]:
    """The totals of the threads that these activities are in, by thread id; no others are counted."""
    found: dict[str, ThreadTotals] = {}
    ordered = sorted(seqs)
    for start in range(0, len(ordered), _AT_ONCE):
        with database.reading() as connection:
            _count(connection, _a.seq.in_(ordered[start : start + _AT_ONCE]), user_email=user_email, found=found)
    return found


def _read(connection: Connection, user_email: str, which: ColumnElement[bool]) -> list[Thread]:
    query = select(_t.thread_id, _t.root_activity_id, _t.title, _t.made_title, _t.created_at)
    rows = connection.execute(query.where(_t.user_email == user_email, which)).all()
    found: dict[str, ThreadTotals] = {}
    theirs = and_(_a.thread_id.in_([row.thread_id for row in rows]), seen())
    _count(connection, theirs, user_email=user_email, found=found)
    return [Thread(**row._mapping, **asdict(found.get(row.thread_id, ThreadTotals()))) for row in rows]


def _count(
    connection: Connection, which: ColumnElement[bool], *, user_email: str, found: dict[str, ThreadTotals]
) -> None:
    """Add the totals of these activities, all read in one pass, to those that were `found` of earlier ones."""
    for thread_id, actor_id, recipe, replies, last_reply_at in connection.execute(_participants(user_email, which)):
        totals = found.get(thread_id, ThreadTotals())
        found[thread_id] = ThreadTotals(
            reply_count=totals.reply_count + replies,
            last_reply_at=max(filter(None, (totals.last_reply_at, last_reply_at)), default=None),
            participant_ids=list(dict.fromkeys([*totals.participant_ids, actor_id])),
            recipes=list(dict.fromkeys([*totals.recipes, recipe])),
        )


def _participants(user_email: str, which: ColumnElement[bool]) -> Select[Any]:
    is_root = _a.activity_id == _t.root_activity_id
    counts = (
        _a.thread_id,
        _a.actor_id,
        _a.recipe,
        func.sum(case((is_root, 0), else_=1)),
        func.max(case((is_root, None), else_=_a.created_at)),
    )
    return (
        with_conversation(select(*counts))
        .join(threads, _t.thread_id == _a.thread_id)
        .where(_a.user_email == user_email, which)
        .group_by(_a.thread_id, _a.actor_id, _a.recipe)
        .order_by(func.min(_a.seq))
    )
