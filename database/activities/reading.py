"""Reading activities, with what the messages among them say, and suggesting them to a person who types."""

from __future__ import annotations

import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, FromClause, Select, Text, and_, cast, exists, or_, select, true

from database.engine.database import Database
from database.engine.errors import ActivityNotFoundError, AmbiguousReferenceError
from database.schema import activities, conversations, former_short_ids, messages, users

MESSAGE = ("general-discussion", "chat_message")
"""Recipe and type of the activities that are messages."""
NEWEST = 2**63 - 1
"""Greater than any `seq`."""
_a, _f, _m = activities.c, former_short_ids.c, messages.c
_parent = activities.alias("parent")
_of_parent = conversations.alias("of_parent")
# A statement holds at most 32,766 parameters.
_AT_ONCE = 10_000
_UNNAMED = ("", "You")
"""Names that older versions stored for the person."""
_SHORTEST_WORD = 2
_MOST_BEGUN = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One activity.

    text: what a message says; None for any other activity. actor_name: the person's display name, the title of the
    agent, or the name of the model. reply_to_short_id: None where the activity replies to nothing, or to what was
    deleted. is_hidden: a message that models don't see. deleted_at: of a deleted activity; most functions leave these
    out.
    """

    seq: int
    activity_id: str
    user_email: str
    conversation_id: str
    session_id: str | None
    recipe: str
    type: str
    short_id: str
    reply_to_id: str | None
    reply_to_short_id: str | None
    thread_id: str | None
    actor_type: str
    actor_id: str
    actor_name: str
    payload: Mapping[str, Any]
    created_at: str
    deleted_at: str | None
    text: str | None
    is_hidden: bool

    @property
    def is_message(self) -> bool:
        """Whether the activity is a message of its conversation."""
        return (self.recipe, self.type) == MESSAGE


_OWN = (
    _a.seq,
    _a.activity_id,
    _a.user_email,
    _a.conversation_id,
    _a.session_id,
    _a.recipe,
    _a.type,
    _a.short_id,
    _a.reply_to_id,
    _parent.c.short_id.label("reply_to_short_id"),
    _a.thread_id,
    _a.actor_type,
    _a.actor_id,
    _a.actor_name,
    _a.payload,
    _a.created_at,
    _a.deleted_at,
    _m.text,
    _m.show_hide,
    users.c.name,
)


def with_conversation(query: Select[Any]) -> Select[Any]:
    """`query` on activities, joined with their messages and conversations, as `seen` needs them."""
    return (
        query.select_from(activities)
        .outerjoin(messages, _m.seq == _a.seq)
        .outerjoin(conversations, conversations.c.conversation_id == _a.conversation_id)
    )


def kept() -> ColumnElement[bool]:
    """Whether an activity is there: not deleted, in no deleted conversation, on whichever branch."""
    return and_(
        _a.deleted_at.is_(None),
        conversations.c.deleted_at.is_(None),  # also of the rooms beside the conversations, which have no row there
    )


def seen() -> ColumnElement[bool]:
    """Whether an activity can be seen: not deleted, in no deleted conversation, on the active path."""
    return and_(kept(), _m.other_branch.is_(None))


def is_parent(parent: FromClause) -> ColumnElement[bool]:
    """Whether the row of `parent`, an alias of activities, is what an activity replies to.

    It is the same person's, not deleted, and in no deleted conversation.
    """
    gone = exists().where(
        _of_parent.c.conversation_id == parent.c.conversation_id, _of_parent.c.deleted_at.is_not(None)
    )
    return and_(
        parent.c.activity_id == _a.reply_to_id,
        parent.c.user_email == _a.user_email,
        parent.c.deleted_at.is_(None),
        ~gone,
    )


_ACTIVITIES = (
    with_conversation(select(*_OWN))
    .outerjoin(_parent, is_parent(_parent))
    .outerjoin(users, users.c.user_email == _a.user_email)
)


def live_activities(user_email: str, **values: str) -> Select[Any]:
    """The person's activities that can be seen, those with these values; for `read_activities`."""
    conditions = (_a[name] == value for name, value in values.items())
    return _ACTIVITIES.where(_a.user_email == user_email, seen(), *conditions)


def live_activities_in(conversation_id: str, *, user_email: str) -> Select[Any]:
    """Those that can be seen of a conversation, none of another person's; for `read_activities`.

    By the owner of the conversation: by that of its activities, SQLite would look at all that the person has.
    """
    is_own = conversations.c.user_email == user_email
    return _ACTIVITIES.where(is_own, _a.conversation_id == conversation_id, seen())


def own_activities(user_email: str) -> Select[Any]:
    """All of the person's activities, deleted ones and those of other branches among them."""
    return _ACTIVITIES.where(_a.user_email == user_email)


def read_activities(connection: Connection, query: Select[Any]) -> list[Activity]:
    """The rows of `live_activities`, with further conditions, as activities."""
    return [_activity(row._mapping) for row in connection.execute(query)]


def activities_of_thread(
    *,
    database: Database,
    user_email: str,
    thread_id: str,
    after: int = 0,
    before: int | None = None,
    recipe: str | None = None,
    limit: int,
) -> list[Activity]:
    """The live activities of a thread in order, over all conversations: the first `limit` whose seq is above `after`.

    before: the last `limit` whose seq is smaller; `NEWEST` for the newest. recipe: only those of this one. Empty for a
    thread that is not there, or another person's.
    """
    with database.reading() as connection:
        of_recipe = {} if recipe is None else {"recipe": recipe}
        here = live_activities(user_email, thread_id=thread_id, **of_recipe).where(_a.seq > after)
        return _window(connection, here, before=before, limit=limit)


def activities_by_id(*, database: Database, user_email: str, activity_ids: Collection[str]) -> dict[str, Activity]:
    """Those of `activity_ids` that are the person's, by id, deleted ones included (`deleted_at` is set then)."""
    these = own_activities(user_email).where(_a.activity_id.in_(activity_ids))
    with database.reading() as connection:
        return {each.activity_id: each for each in read_activities(connection, these)}


def kept_activities_by_id(*, database: Database, user_email: str, activity_ids: Collection[str]) -> dict[str, Activity]:
    """Those of `activity_ids` that are the person's, by id; none that is deleted or in a deleted conversation."""
    ids = list(activity_ids)
    found: dict[str, Activity] = {}
    with database.reading() as connection:
        for start in range(0, len(ids), _AT_ONCE):
            these = own_activities(user_email).where(kept(), _a.activity_id.in_(ids[start : start + _AT_ONCE]))
            found |= {each.activity_id: each for each in read_activities(connection, these)}
    return found


def find_activity(
    connection: Connection, *, user_email: str, reference: str, conversation_id: str | None = None
) -> Activity:
    """The live activity that `reference` means: its id, or its short id, with or without `#`, in any case.

    A short id means an activity of this conversation, or one that had it here and was moved; else one of its threads,
    else any of the person's. Raises ActivityNotFoundError, AmbiguousReferenceError.
    """
    name = reference.strip().removeprefix("#").lower()
    by_id = live_activities(user_email).where(_a.activity_id.in_(ids_of(name)))
    found = read_activities(connection, by_id) or _of_short_id(connection, user_email, name, conversation_id)
    if not found:
        raise ActivityNotFoundError.named(reference)
    if len(found) > 1:
        raise AmbiguousReferenceError(
            "Several activities have this short id. Name the conversation, or the whole id.",
            candidates=[each.activity_id for each in found],
        )
    return found[0]


class DeletedActivity(NamedTuple):
    """What is known of an activity that can't be seen any more. with_conversation: not it alone was deleted."""

    title: str
    with_conversation: bool


def find_deleted_activity(*, database: Database, user_email: str, reference: str) -> DeletedActivity | None:
    """The person's newest deleted activity, or one in a deleted conversation, of this id or short id, which it bore."""
    name = reference.strip().removeprefix("#").lower()
    bore = select(_f.activity_id).where(_f.user_email == user_email, _f.short_id == name)
    deleted = with_conversation(select(conversations.c.title, conversations.c.deleted_at)).where(
        _a.user_email == user_email, ~kept()
    )
    with database.reading() as connection:
        ids = [*ids_of(name), *connection.execute(bore).scalars()]
        for named in (_a.activity_id.in_(ids), _a.short_id == name):
            found = connection.execute(deleted.where(named).order_by(_a.seq.desc()).limit(1)).first()
            if found is not None:
                return DeletedActivity(found.title or "", found.deleted_at is not None)
    return None


_UUID_DIGITS = 32


def ids_of(name: str) -> list[str]:
    """The ids that `name`, in lower case, may be: as it is, and as a uuid with its dashes."""
    if len(digits := name.replace("-", "")) != _UUID_DIGITS:
        return [name]
    return [name, "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))]


def _of_short_id(connection: Connection, user_email: str, short_id: str, conversation_id: str | None) -> list[Activity]:
    """Those of this conversation, else those moved from it; else those of its threads; else all, then all moved."""
    found = read_activities(connection, live_activities(user_email, short_id=short_id).order_by(_a.seq))
    if conversation_id is not None:
        if here := [each for each in found if each.conversation_id == conversation_id]:
            return here
        if moved := _moved(connection, user_email, short_id, _f.conversation_id == conversation_id):
            return moved
    if len(found) > 1 and conversation_id is not None:
        return _in_threads(connection, found, conversation_id=conversation_id) or found
    return found or _moved(connection, user_email, short_id)


def _moved(connection: Connection, user_email: str, short_id: str, *where: ColumnElement[bool]) -> list[Activity]:
    """The activities that had this short id in conversations from which they were moved."""
    had = select(_f.activity_id).where(_f.user_email == user_email, _f.short_id == short_id, *where)
    # Apart: within the one below, SQLite would look at all of the person's activities.
    ids = connection.execute(had).scalars().all()
    if not ids:
        return []
    return read_activities(connection, live_activities(user_email).where(_a.activity_id.in_(ids)).order_by(_a.seq))


def _in_threads(connection: Connection, found: list[Activity], *, conversation_id: str) -> list[Activity]:
    """Those that are in a thread of this conversation."""
    query = select(_a.thread_id).where(
        _a.conversation_id == conversation_id, _a.thread_id.in_({each.thread_id for each in found if each.thread_id})
    )
    own = set(connection.execute(query.distinct()).scalars())
    return [each for each in found if each.thread_id in own]


def _window(connection: Connection, query: Select[Any], *, before: int | None, limit: int) -> list[Activity]:
    if before is None:
        return read_activities(connection, query.order_by(_a.seq).limit(limit))
    newest = query.where(_a.seq < before).order_by(_a.seq.desc()).limit(limit)
    return read_activities(connection, newest)[::-1]


def _activity(row: Mapping[Any, Any]) -> Activity:
    fields = dict(row)
    display_name = fields.pop("name")
    fields["is_hidden"] = fields.pop("show_hide") == "hide"
    if fields["actor_type"] == "user" and fields["actor_name"] in (*_UNNAMED, fields["user_email"]):
        fields["actor_name"] = display_name or fields["user_email"]
    return Activity(**fields)


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
        if typed and set(typed) <= set(string.hexdigits):
            take(_begins_with(typed))
            if (left := limit - len(found)) > 0:
                found += _anywhere(connection, typed, user_email=user_email, known=found, limit=left)
        if len(typed) >= _SHORTEST_WORD:
            said = (_m.text, _a.type, cast(_a.payload, Text))
            take(or_(*(each.icontains(typed, autoescape=True) for each in said)))
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


def _begins_with(typed: str) -> ColumnElement[bool]:
    """By a range, which an index serves: "g" follows all hexadecimal digits."""
    return and_(_a.short_id >= typed, _a.short_id < f"{typed}g")
