"""The activities that an export takes: chosen by one statement, then read in pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, TextClause, and_, false, func, or_, select, union

from database.activities.reading import MESSAGE, Activity, ids_of, is_parent, own_activities, read_activities
from database.conversations.conversation import access_head
from database.engine.database import Database
from database.history.attachments import hashes_of
from database.history.reading import page_of
from database.messages.message import MessageRow, rows_with_seqs
from database.schema import IS_NO_MESSAGE, activities, conversations, messages, threads

_a, _m = activities.c, messages.c
_parent = activities.alias("parent")
# A statement holds at most 32,766 parameters.
_AT_ONCE = 10_000

RecipeAndType = tuple[str, str | None]
"""A recipe and one of its types; None: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which activities of a person are meant. What is None does not narrow.

    is_beside: `conversation_id` is a room beside the conversations. recipe: the domain of one recipe. only: the
    activities of these recipes and types. other_than: beside those of `only`, all that are of none of these.
    """

    user_email: str
    conversation_id: str | None = None
    is_beside: bool = False
    thread_id: str | None = None
    recipe: str | None = None
    only: Collection[RecipeAndType] | None = None
    other_than: Collection[RecipeAndType] | None = None


class ChosenActivity(NamedTuple):
    """An activity of an export. parent: `seq` of what it replies to, 0 for none. ordinal: None for no message."""

    seq: int
    parent: int
    ordinal: int | None
    kind: tuple[str, str]
    thread_id: str | None
    conversation_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivityPage:
    """Some activities of an export, in order.

    messages: the rows of those that are messages, by their ids. edits, variants: as in `MessagePage`. questions: the
    ids of those that the answers among them answer, and that are not deleted. hashes: the SHA-256 of the files of the
    messages, by the ids of the files.
    """

    activities: Sequence[Activity]
    messages: dict[str, MessageRow]
    edits: dict[str, list[dict[str, Any]]]
    variants: dict[str, list[dict[str, Any]]]
    questions: set[str]
    hashes: dict[str, str]


def choose_activities(selection: Selection, *, database: Database, anchor: int | None = None) -> list[ChosenActivity]:
    """The live activities of `selection`, of all branches, in order; turns that are not kept are left out.

    In a conversation the order is that of its messages, which a person may have moved; other activities follow the
    message that was there before them. Otherwise it is the order in which everything happened. anchor: the `seq` of an
    activity that is among them, whatever its recipe.
    """
    query = (
        select(
            _a.seq,
            func.coalesce(_parent.c.seq, 0),
            _m.ordinal,
            _a.recipe,
            _a.type,
            _a.thread_id,
            _a.conversation_id,
        )
        .select_from(activities)
        .outerjoin(messages, _m.seq == _a.seq)
        .outerjoin(_parent, is_parent(_parent))
        .outerjoin(conversations, conversations.c.conversation_id == _a.conversation_id)
        .where(*_within(selection))
        .order_by(_a.seq)
        .execution_options(yield_per=_AT_ONCE)
    )
    with database.reading() as connection:
        chosen = list(_compact(connection.execute(query.where(*_narrowing(selection)))))
        # Apart: as one of two conditions it would keep engines from the indexes of both.
        anchored = _compact(connection.execute(query.where(_a.seq == anchor))) if anchor is not None else ()
        chosen = sorted({*chosen, *anchored}) if anchor is not None else chosen
    return chosen if selection.conversation_id is None else _in_order_of_messages(chosen)


def find_anchors(selection: Selection, reference: str, *, database: Database) -> list[int]:
    """`seq` of each live activity within the conversation or thread that has this uuid or short id, in lower case."""
    own = select(_a.seq).where(_a.user_email == selection.user_email)
    named = union(own.where(_a.activity_id.in_(ids_of(reference))), own.where(_a.short_id == reference))
    query = (
        select(_a.seq)
        .select_from(activities)
        .outerjoin(messages, _m.seq == _a.seq)
        .outerjoin(conversations, conversations.c.conversation_id == _a.conversation_id)
        .where(*_within(selection))
        .order_by(_a.seq)
    )
    with database.reading() as connection:
        # Apart: within the query, SQLite would look at all activities of the conversation, or of the person.
        seqs = connection.execute(named).scalars().all()
        return list(connection.execute(query.where(_a.seq.in_(seqs))).scalars()) if seqs else []


def read_chosen(selection: Selection, seqs: Sequence[int], *, database: Database) -> ActivityPage:
    """The activities with these `seq`, in this order; those that were deleted meanwhile are missing.

    Raises ConversationNotFoundError where the conversation was deleted meanwhile.
    """
    query = own_activities(selection.user_email).where(_a.seq.in_(seqs), _a.deleted_at.is_(None))
    with database.reading() as connection:
        if selection.conversation_id is not None and not selection.is_beside:
            access_head(connection, user_email=selection.user_email, conversation_id=selection.conversation_id)
        found = {activity.seq: activity for activity in read_activities(connection, query)}
        told = [found[seq] for seq in seqs if seq in found]
        rows = rows_with_seqs(connection, [activity.seq for activity in told if activity.is_message])
        page = page_of(connection, rows)
        answered = [row.in_answer_to for row in rows if row.in_answer_to is not None]
        live = select(_m.message_id).where(_m.message_id.in_(answered), _m.deleted_at.is_(None))
        questions = set(connection.execute(live).scalars()) if answered else set()
        hashes = hashes_of(connection, _files_of(rows, page.variants), user_email=selection.user_email)
    return ActivityPage(
        activities=told,
        messages={row.message_id: row for row in rows},
        edits=page.edits,
        variants=page.variants,
        questions=questions,
        hashes=hashes,
    )


def _files_of(rows: Iterable[MessageRow], variants: Mapping[str, Sequence[Mapping[str, Any]]]) -> set[str]:
    """The ids of the files that messages use, and their variants."""
    versions = [row.parts for row in rows] + [each["parts"] for found in variants.values() for each in found]
    named = (part.get("attachment_id") for parts in versions for part in parts)
    return {each for each in named if isinstance(each, str)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedThread:
    """A thread. title: as the person named it; "" where they did not. made_title: as the cheap model did, if it has."""

    thread_id: str
    title: str
    made_title: str | None
    root_activity_id: str
    session_key: str | None
    created_at: str


def read_threads(thread_ids: Sequence[str], *, database: Database, user_email: str) -> dict[str, ExportedThread]:
    """Those of these threads that are the person's, by id."""
    columns = [threads.c[name] for name in ExportedThread.__dataclass_fields__]
    query = select(*columns)
    found: dict[str, ExportedThread] = {}
    for start in range(0, len(thread_ids), _AT_ONCE):
        chosen = threads.c.thread_id.in_(thread_ids[start : start + _AT_ONCE])
        with database.reading() as connection:
            rows = connection.execute(query.where(chosen, threads.c.user_email == user_email)).all()
        found |= {row.thread_id: ExportedThread(**row._mapping) for row in rows}
    return {thread_id: found[thread_id] for thread_id in thread_ids if thread_id in found}


def _within(selection: Selection) -> Iterator[ColumnElement[bool]]:
    """What holds of every activity of the conversation, the thread, or the person, whatever its recipe."""
    # By the owner of the conversation: by that of its activities, SQLite would look at all that the person has.
    owned = activities if selection.conversation_id is None or selection.is_beside else conversations
    yield owned.c.user_email == selection.user_email
    yield _a.deleted_at.is_(None)
    yield conversations.c.deleted_at.is_(None)
    # Turns that are not kept have rows while they run.
    yield or_(_m.seq.is_(None), _m.config["kept"].as_boolean().is_not(False))
    if selection.conversation_id is not None:
        yield _a.conversation_id == selection.conversation_id
    if selection.thread_id is not None:
        yield _a.thread_id == selection.thread_id


def _narrowing(selection: Selection) -> Iterator[ColumnElement[bool] | TextClause]:
    if selection.recipe is not None:
        yield _a.recipe == selection.recipe
        if selection.conversation_id is None and selection.thread_id is None and selection.recipe != MESSAGE[0]:
            # As the index of recipes says it: SQLite compares the words.
            yield _a.user_email == selection.user_email
            yield IS_NO_MESSAGE
    if selection.only is not None:
        others = [] if selection.other_than is None else [~or_(*map(_is_of, selection.other_than))]
        yield or_(false(), *map(_is_of, selection.only), *others)


def _is_of(wanted: RecipeAndType) -> ColumnElement[bool]:
    recipe, type_name = wanted
    is_of_recipe = _a.recipe == recipe
    return is_of_recipe if type_name is None else and_(is_of_recipe, _a.type == type_name)


def _compact(rows: Iterable[Any]) -> Iterator[ChosenActivity]:
    """The rows, with one object for each text that occurs often: a long conversation has many."""
    texts: dict[str, str] = {}
    kinds: dict[tuple[str, str], tuple[str, str]] = {}
    for seq, parent, ordinal, recipe, type_name, thread_id, conversation_id in rows:
        kind = (recipe, type_name)
        yield ChosenActivity(
            seq,
            parent,
            ordinal,
            kinds.setdefault(kind, kind),
            thread_id and texts.setdefault(thread_id, thread_id),
            texts.setdefault(conversation_id, conversation_id),
        )


def _in_order_of_messages(chosen: list[ChosenActivity]) -> list[ChosenActivity]:
    keys: dict[int, tuple[int, int]] = {}
    place = 0
    for each in chosen:
        if each.ordinal is not None:
            place = each.ordinal
        keys[each.seq] = (place, 0 if each.ordinal is not None else each.seq)
    return sorted(chosen, key=lambda each: keys[each.seq])
