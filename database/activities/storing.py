"""Storing activities: each gets its place in the order of everything, and its short id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, filterfalse
from operator import attrgetter
from typing import Any

from sqlalchemy import BigInteger, Connection, Text, bindparam, cast, func, insert, literal_column, select, union_all
from sqlalchemy.dialects.postgresql import REGCLASS
from uuid_utils import uuid7

from database.engine.statements import Prepared
from database.schema import activities, former_short_ids

_SHORT_ID_LENGTHS = (6, 8, 12, 32)
_OF_AN_ACTIVITY = {
    "activity_id": "activity_id",
    "recipe": "recipe",
    "type": "type",
    "reply_to_id": "place.reply_to_id",
    "thread_id": "place.thread_id",
    "session_id": "session_id",
    "actor_type": "actor_type",
    "actor_id": "actor_id",
    "actor_name": "actor_name",
    "payload": "payload",
    "created_at": "created_at",
}
"""What the columns hold of a NewActivity."""
_COLUMNS = ("conversation_id", "short_id", *_OF_AN_ACTIVITY)
_values_of = attrgetter(*_OF_AN_ACTIVITY.values())
_SEQUENCE = f"{activities.name}_{activities.c.seq.name}_seq"
"""As PostgreSQL names it; asking for the name takes as long as asking for a number."""
_NUMBERS = Prepared(
    select(func.nextval(cast(_SEQUENCE, REGCLASS))).select_from(
        func.generate_series(literal_column("1"), cast(bindparam("count"), BigInteger))
    )
)
BESIDE = ("knowledge", "documents")
"""What the ids of the rooms beside the conversations end in, which begin with the person's address."""
_AT_ONCE = 50
"""So many are one statement: more would be more parameters than some databases take."""


def new_activity_id() -> str:
    """An id for an activity about to be stored: a UUID of version 7 (RFC 9562).

    Such ids begin with the time, so that what is stored one after the other stands side by side in the indexes; what a
    short id is made of, their end, is random.
    """
    return str(uuid7())


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an activity stands: what it replies to, and in which thread; None for neither."""

    reply_to_id: str | None = None
    thread_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewActivity:
    """An activity about to be stored.

    actor_type: user, assistant, agent or system. session_id: of a game, a run. short_id: one that it brings along,
    which it keeps where its conversation has no other activity of this short id.
    """

    recipe: str
    type: str
    actor_type: str
    actor_id: str
    actor_name: str
    created_at: str
    place: Place = Place()
    session_id: str | None = None
    payload: dict[str, Any] = field(default_factory=dict)
    activity_id: str = field(default_factory=new_activity_id)
    short_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredActivity:
    """What the store gave an activity: its place in the order of everything, and its short id."""

    seq: int
    activity_id: str
    short_id: str


def insert_activities(
    connection: Connection,
    born: Sequence[NewActivity],
    *,
    user_email: str,
    conversation_id: str,
) -> list[StoredActivity]:
    """Store activities of one conversation, in this order."""
    stored: list[StoredActivity] = []
    for start in range(0, len(born), _AT_ONCE):
        some = born[start : start + _AT_ONCE]
        free = allocate_short_ids(connection, some, conversation_id=conversation_id)
        placed = [(conversation_id, *each) for each in zip(free, some, strict=True)]
        stored += _insert(connection, placed, user_email=user_email)
    return stored


def insert_as_asked(
    connection: Connection,
    born: Sequence[NewActivity],
    *,
    user_email: str,
    conversation_id: str,
    short_ids: Sequence[str],
    numbers: Sequence[int] | None,
) -> list[StoredActivity]:
    """`insert_activities` of at most 50, for which the same transaction has asked before.

    short_ids, numbers: what `asked_for_short_ids` and `asked_for_numbers` have read.
    """
    placed = [(conversation_id, *each) for each in zip(short_ids, born, strict=True)]
    return _insert(connection, placed, user_email=user_email, numbers=numbers)


def insert_into_new(
    connection: Connection, born: Sequence[tuple[str, NewActivity]], *, user_email: str
) -> list[StoredActivity]:
    """Store activities in this order, each with the id of its conversation, in which there never was any before."""
    taken: defaultdict[str, set[str]] = defaultdict(set)
    placed = [
        (conversation_id, _first_free(_candidates(new.activity_id, new.short_id), taken[conversation_id]), new)
        for conversation_id, new in born
    ]
    return [
        stored
        for start in range(0, len(placed), _AT_ONCE)
        for stored in _insert(connection, placed[start : start + _AT_ONCE], user_email=user_email)
    ]


def allocate_short_ids(connection: Connection, born: Sequence[NewActivity], *, conversation_id: str) -> list[str]:
    """A short id for each activity, free in this conversation.

    The one that it brings along; else the last 6 hex digits of its uuid, or 8, 12, 32 where they are taken. Taken are
    also those of activities that were moved from here: what was written here means these.
    """
    return _free_short_ids(connection, [_candidates(new.activity_id, new.short_id) for new in born], conversation_id)()


def asked_for_short_ids(
    connection: Connection, activity_ids: Sequence[str], *, conversation_id: str
) -> Callable[[], list[str]]:
    """Asks which short ids are free; what is returned reads the answer: a short id for each activity."""
    return _free_short_ids(connection, [_candidates(each, None) for each in activity_ids], conversation_id)


def asked_for_numbers(connection: Connection, count: int) -> Callable[[], list[int] | None]:
    """Asks for the next places in the order of everything; what is returned reads them.

    They spare a wait for a database server; SQLite gives them with the rows, and there it reads None.
    """
    if connection.dialect.name == "sqlite":
        return lambda: None
    rows = _NUMBERS.asked(connection, count=count)
    return lambda: [number for (number,) in rows()]


def short_id_in(connection: Connection, conversation_id: str, *, activity_id: str, short_id: str) -> str:
    """The short id that an activity has once it is in this conversation: its own, or another where that is taken."""
    return _free_short_ids(connection, [_candidates(activity_id, short_id)], conversation_id)()[0]


def _free_short_ids(
    connection: Connection, candidates: Sequence[Sequence[str]], conversation_id: str
) -> Callable[[], list[str]]:
    """Asks for the first of each that is free in this conversation, and that none before it has got."""
    wanted = list(chain(*candidates))
    named = {f"wanted_{number}": short_id for number, short_id in enumerate(wanted)}
    rows = _taken(len(wanted)).asked(connection, conversation=conversation_id, **named)

    def free() -> list[str]:
        taken = {short_id for (short_id,) in rows()}
        return [_first_free(its_own, taken) for its_own in candidates]

    return free


def _first_free(candidates: Sequence[str], taken: set[str]) -> str:
    """The first that is not taken; it is taken then."""
    short_id = next(filterfalse(taken.__contains__, candidates))
    taken.add(short_id)
    return short_id


def _insert(
    connection: Connection,
    placed: Sequence[tuple[str, str, NewActivity]],
    *,
    user_email: str,
    numbers: Sequence[int] | None = None,
) -> list[StoredActivity]:
    """placed: the conversation of each activity, and its short id."""
    values: dict[str, Any] = {"user_email": user_email}
    for number, (conversation_id, short_id, new) in enumerate(placed):
        values.update(zip(_parameters(number), (conversation_id, short_id, *_values_of(new)), strict=True))
    if numbers is None:
        seqs: dict[str, int] = dict(_inserting(len(placed)).rows(connection, **values))
    else:
        seqs = {new.activity_id: number for (_, _, new), number in zip(placed, numbers, strict=True)}
        values.update({f"seq_{place}": number for place, number in enumerate(numbers)})
        _inserting(len(placed), numbered=True).run(connection, **values)
    return [
        StoredActivity(seq=seqs[new.activity_id], activity_id=new.activity_id, short_id=short_id)
        for _, short_id, new in placed
    ]


@cache
def _parameters(number: int) -> tuple[str, ...]:
    """The names of the values of one row among those of a statement."""
    return tuple(f"{name}_{number}" for name in _COLUMNS)


@cache
def _inserting(count: int, *, numbered: bool = False) -> Prepared:
    owner = bindparam("user_email", type_=Text)
    rows = [
        {
            "user_email": owner,
            **{
                column: bindparam(parameter, type_=activities.c[column].type)
                for column, parameter in zip(_COLUMNS, _parameters(number), strict=True)
            },
        }
        for number in range(count)
    ]
    if numbered:
        seqs = [{"seq": bindparam(f"seq_{number}", type_=activities.c.seq.type)} for number in range(count)]
        return Prepared(insert(activities).values([row | seq for row, seq in zip(rows, seqs, strict=True)]).inline())
    # Told of each row which one it is: a database need not return them in the order in which they were given.
    return Prepared(insert(activities).values(rows).returning(activities.c.activity_id, activities.c.seq))


@cache
def _taken(count: int) -> Prepared:
    wanted = [bindparam(f"wanted_{number}", type_=Text) for number in range(count)]
    here = bindparam("conversation", type_=Text)
    taken = (
        select(table.c.short_id).where(table.c.conversation_id == here, table.c.short_id.in_(wanted))
        for table in (activities, former_short_ids)
    )
    return Prepared(union_all(*taken))


def _candidates(activity_id: str, short_id: str | None) -> list[str]:
    """The short ids that an activity may get, the best first. short_id: one that it has already."""
    digits = activity_id.replace("-", "").lower()
    brought = [] if short_id is None else [short_id]
    return brought + [digits[-length:] for length in _SHORT_ID_LENGTHS]
