"""Cloning and forking a conversation: the same words, identifiers of its own."""

from __future__ import annotations

import uuid
from collections import ChainMap, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, func, insert, or_, select, update

from conversation_reference_utils import unique_message_short_hash
from database.activities.renaming import renamed
from database.activities.storing import NewActivity, Place, insert_activities, new_activity_id
from database.conversations.consent import CONSENT
from database.conversations.conversation import ConversationRow, record_listed
from database.conversations.friendly_ids import assign_friendly_id
from database.conversations.repository import created_before, insert_conversation, new_conversation_id, read_live
from database.conversations.tags import insert_tags
from database.conversations.titles import copy_title, heuristic_title, words_for_title
from database.engine.clock import now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import MessageNotFoundError
from database.engine.statements import insert_rows
from database.messages.branch_tree import branches_of, on_path
from database.messages.documents import document_rows, told_documents
from database.messages.message import row_with_id
from database.messages.parts import files_of, part_rows, told_parts
from database.messages.unkept import is_unkept, unkept_in
from database.schema import (
    IS_NO_MESSAGE,
    activities,
    conversations,
    document_references,
    message_edits,
    message_parts,
    message_references,
    message_variants,
    messages,
    threads,
)
from database.turns.events import answer_events, joined_text

ClonedRows = Sequence[tuple[Table, Sequence[dict[str, Any]]]]
_NUMBERED_BY_THE_STORE = {"edit_id"}


def with_text_so_far(connection: Connection, row: Row[*tuple[Any, ...]]) -> dict[str, Any]:
    """The message's columns; for a running answer, with the text streamed so far, marked as interrupted.

    An answer that is being regenerated keeps its earlier version.
    """
    fields = dict(row._mapping)
    if fields["status"] != "streaming":
        return fields
    if fields["chosen_variant"] is not None:
        chosen = select(message_variants.c.status).where(
            message_variants.c.message_id == fields["message_id"],
            message_variants.c.number == fields["chosen_variant"],
        )
        return fields | {"status": connection.execute(chosen).scalar_one()}
    return fields | _interrupted(connection, fields["message_id"])


def read_cloned_rows(connection: Connection, message_ids: Mapping[str, str], originals: Sequence[str]) -> ClonedRows:
    """What belongs to the messages `originals`, for their copies: references, edits, variants, parts, documents.

    message_ids: new ids by old.
    """
    found = []
    for table in (message_references, message_edits, message_variants, message_parts, document_references):
        names = [column.name for column in table.c if column.name not in _NUMBERED_BY_THE_STORE]
        query = select(*(table.c[name] for name in names)).where(table.c.message_id.in_(originals))
        rows = connection.execute(query.order_by(*table.primary_key.columns)).all()
        found.append((table, [_copied(connection, dict(row._mapping), message_ids) for row in rows]))
    return [*found, *_being_written(connection, message_ids, originals)]


def _being_written(connection: Connection, message_ids: Mapping[str, str], originals: Sequence[str]) -> ClonedRows:
    """The parts and documents, as rows of the copies, that answers among `originals` have told of.

    They are not stored yet.
    """
    newest = select(func.max(message_variants.c.number)).where(message_variants.c.message_id == messages.c.message_id)
    running = select(messages.c.message_id, messages.c.user_email, newest.scalar_subquery().label("attempt")).where(
        messages.c.message_id.in_(originals), messages.c.status == "streaming"
    )
    parts: list[dict[str, Any]] = []
    documents: list[dict[str, Any]] = []
    for message_id, user_email, attempt in connection.execute(running).all():
        events, copy, version = answer_events(connection, message_id), message_ids[message_id], attempt or 1
        parts += part_rows(copy, told_parts(events), version=version)
        documents += document_rows(copy, told_documents(events), user_email=user_email, version=version)
    return [(message_parts, parts), (document_references, documents)]


def _copied(connection: Connection, fields: dict[str, Any], message_ids: Mapping[str, str]) -> dict[str, Any]:
    if fields.get("status") == "streaming" and "number" in fields:
        fields |= _interrupted(connection, fields["message_id"])
    return fields | {"message_id": message_ids[fields["message_id"]]}


def _interrupted(connection: Connection, message_id: str) -> dict[str, Any]:
    return {"text": joined_text(answer_events(connection, message_id)), "status": "interrupted"}


def _mark(connection: Connection, message_ids: Sequence[str], *, having: Table, column: str) -> None:
    """Let the copies among `message_ids` that have rows in the table `having` say so."""
    these = select(having.c.message_id).where(having.c.message_id.in_(message_ids))
    connection.execute(update(messages).where(messages.c.message_id.in_(these)).values({column: 1}))


_MARKS = ((message_parts, "has_parts"), (document_references, "has_documents"))


_MESSAGES_AT_ONCE = 50
_CHARACTERS_AT_ONCE = 500_000
_CHARACTERS_OF_ANOTHER = 500

_OF_AN_ACTIVITY = (
    "activity_id",
    "recipe",
    "type",
    "reply_to_id",
    "thread_id",
    "session_id",
    "actor_type",
    "actor_id",
    "actor_name",
    "payload",
    "created_at",
)
_KEPT = (
    "user_email",
    "sender",
    "text",
    "status",
    "show_hide",
    "config",
    "report",
    "created_at",
    "edited_at",
    "chosen_variant",
    "pinned_at",
    "deleted_at",
    "chosen_branch",
    "other_branch",
    "source_agent_id",
    "source_agent_title",
)

_m = messages.c
_a = activities.c


@dataclass(kw_only=True)
class _Copy:
    """A clone in progress.

    slices: the ids of the source's messages and other activities in order, in lists that one writer job copies.
    message_ids, other_ids, thread_ids: the clone's ids by the source's, of messages, other activities and threads.
    summarised: the clone's `summarised_ordinal`.
    has_branches: the clone has all branches of the source; otherwise its messages are one branch.
    """

    source: ConversationRow
    conversation_id: str
    title: str
    slices: list[list[str]]
    message_ids: dict[str, str]
    other_ids: dict[str, str]
    thread_ids: dict[str, str]
    summarised: int
    has_branches: bool
    new_threads: list[dict[str, Any]] = field(default_factory=list)
    created_at: str = field(default_factory=now_iso)
    friendly_id: str | None = None
    hashes: set[str] = field(default_factory=set)
    last_ordinal: int = 0
    message_count: int = 0

    @property
    def ids(self) -> Mapping[str, str]:
        """Of all activities."""
        return ChainMap(self.message_ids, self.other_ids)


def clone_conversation(
    *, database: Database, user_email: str, conversation_id: str, client_id: str | None = None, kind: str = "copy"
) -> ConversationRow:
    """A copy of a conversation with the messages that it has at this moment.

    A running answer is copied as far as it got, and marked as interrupted. Variants of answers, earlier texts of
    messages, and the other activities of the conversation are copied too. client_id: the clone of this conversation
    that was made under it before is returned. kind: the word in brackets behind the title. Raises
    ConversationNotFoundError (missing, somebody else's, or in the bin), ConflictError (the clone of this client_id is
    still being made, or was deleted).
    """
    store = database
    with store.reading() as connection:
        source = read_live(connection, user_email=user_email, conversation_id=conversation_id)
        copy = _plan(connection, source, suffix=kind, client_id=client_id)
    return _filled(store, copy)


def fork_conversation(
    *,
    database: Database,
    user_email: str,
    conversation_id: str,
    message_id: str,
    client_id: str | None = None,
    kind: str = "fork",
) -> ConversationRow:
    """A copy of a conversation up to and including a message.

    A copy has no branches, only the messages that lead to this one, and the other activities that stand between them
    or right behind it. A summary that covers later messages, or another
    branch, is not copied. client_id: the fork at this message that was made under it before is returned. kind: the
    word in brackets behind the title. Raises ConversationNotFoundError (missing, somebody else's, or in the bin),
    MessageNotFoundError (it has no such live message), ConflictError (the fork of this client_id is still being made,
    or was deleted).
    """
    store = database
    with store.reading() as connection:
        source = read_live(connection, user_email=user_email, conversation_id=conversation_id)
        last = row_with_id(connection, conversation_id, message_id)
        if last is None or last.deleted_at is not None or is_unkept(last.config):
            raise MessageNotFoundError
        if source.summarised_ordinal > last.ordinal or last.other_branch is not None:
            source = replace(source, running_summary="", summarised_ordinal=0)
        tree = branches_of(connection, conversation_id)
        path = tree.choosing(tree.choices_to(last.branch_id, last.ordinal)).path()
        leading_there = (_m.ordinal <= last.ordinal) & _m.deleted_at.is_(None) & on_path(path)
        point = client_id and f"{client_id}\n{message_id}"
        copy = _plan(connection, replace(source, branch_id=None), suffix=kind, which=leading_there, client_id=point)
    return _filled(store, copy)


def _filled(store: Database, copy: _Copy) -> ConversationRow:
    made = store.write(lambda connection: _begin(connection, copy))
    if made is not None:
        return made
    for ids in copy.slices:
        message_ids = [each for each in ids if each in copy.message_ids]
        # One long read transaction would block WAL checkpoints, and with them the next writer.
        with store.reading() as connection:
            rows = [with_text_so_far(connection, row) for row in _messages(connection, message_ids)]
            others = _others(connection, [each for each in ids if each in copy.other_ids])
            cloned = read_cloned_rows(connection, copy.message_ids, message_ids)
        job = partial(_add, copy=copy, order=ids, rows=rows, others=others, cloned=cloned)
        store.write(job, urgency=Urgency.INDEX)
    return store.write(lambda connection: _reveal(connection, copy))


def _live_messages(conversation_id: str, *columns: Any) -> Select[Any]:
    return (
        select(*columns)
        .join_from(messages, activities, _a.seq == _m.seq)
        .where(
            _m.conversation_id == conversation_id,
            # A deleted question stays where branches begin with it.
            or_(_m.deleted_at.is_(None), _m.branch_of.is_not(None), _m.chosen_branch.is_not(None)),
            _m.message_id.not_in(unkept_in(conversation_id)),
        )
        .order_by(_m.ordinal)
    )


def _plan(
    connection: Connection,
    source: ConversationRow,
    *,
    suffix: str,
    client_id: str | None,
    which: ColumnElement[bool] | None = None,
) -> _Copy:
    query = _live_messages(
        source.conversation_id, _m.message_id, _m.ordinal, _a.thread_id, func.length(_m.text).label("characters")
    )
    if which is not None:
        query = query.where(which)
    rows = connection.execute(query).all()
    others = _other_activities(connection, source.conversation_id, {row.message_id for row in rows})
    ordered = _in_order(rows, others)
    copy = _Copy(
        source=source,
        conversation_id=new_conversation_id(
            source.user_email, client_id=client_id and f"{client_id}\n{source.conversation_id}"
        ),
        title=_title(connection, source, suffix),
        slices=_slices(ordered),
        message_ids={row.message_id: new_activity_id() for row in rows},
        other_ids={each.activity_id: new_activity_id() for some in others.values() for each in some},
        thread_ids={row.thread_id: str(uuid.uuid4()) for row in ordered if row.thread_id is not None},
        summarised=sum(row.ordinal <= source.summarised_ordinal for row in rows),
        has_branches=which is None,
    )
    copy.new_threads = _threads(connection, copy, ordered)
    return copy


class _Copied(NamedTuple):
    """A message or another activity of the source. characters: roughly."""

    activity_id: str
    thread_id: str | None
    characters: int


def _other_activities(
    connection: Connection, conversation_id: str, message_ids: Collection[str]
) -> dict[str | None, list[_Copied]]:
    """The live activities that are no messages, by the copied message that they stand behind; None: at the beginning.

    What stands behind a message that is not copied, or happened for one, is left out.
    """
    query = (
        select(_a.activity_id, _a.thread_id, _m.message_id, _a.payload["message_id"].as_string().label("answer_id"))
        .outerjoin(messages, _m.seq == _a.seq)
        .where(_a.conversation_id == conversation_id, or_(_m.seq.is_not(None), IS_NO_MESSAGE & _a.deleted_at.is_(None)))
        .order_by(_a.seq)
    )
    found: defaultdict[str | None, list[_Copied]] = defaultdict(list)
    before: str | None = None
    for row in connection.execute(query):
        if row.message_id is not None:
            before = row.message_id
        elif {before, row.answer_id} <= {None, *message_ids}:
            found[before].append(_Copied(row.activity_id, row.thread_id, _CHARACTERS_OF_ANOTHER))
    return found


def _in_order(
    rows: Sequence[Row[*tuple[Any, ...]]], others: Mapping[str | None, Sequence[_Copied]]
) -> Sequence[_Copied]:
    """Messages in their order, each before the other activities that stand behind it."""
    ordered = list(others.get(None, ()))
    for row in rows:
        ordered.append(_Copied(row.message_id, row.thread_id, row.characters))
        ordered += others.get(row.message_id, ())
    return ordered


def _slices(rows: Sequence[_Copied]) -> list[list[str]]:
    slices: list[list[str]] = []
    characters = 0
    for row in rows:
        characters += row.characters
        if not slices or characters > _CHARACTERS_AT_ONCE or len(slices[-1]) >= _MESSAGES_AT_ONCE:
            slices.append([])
            characters = row.characters
        slices[-1].append(row.activity_id)
    return slices


def _title(connection: Connection, source: ConversationRow, suffix: str) -> str:
    """The title of the copy; of a conversation in its first turn, which has none yet, a heuristic one."""
    if source.title:
        return copy_title(source.title, kind=suffix)
    first = connection.execute(_live_messages(source.conversation_id, _m.message_id, _m.text).limit(1)).first()
    if first is None:
        return ""
    return heuristic_title(words_for_title(first.text, () if first.text else files_of(connection, first.message_id)))


def _threads(connection: Connection, copy: _Copy, ordered: Sequence[_Copied]) -> list[dict[str, Any]]:
    """The threads of what is copied; the root of each is the copied root, else its first copied activity.

    A session goes on in the source: its copied thread is none of it.
    """
    first: dict[str, str] = {}
    for each in ordered:
        if each.thread_id is not None:
            first.setdefault(each.thread_id, each.activity_id)
    if not first:
        return []
    found = connection.execute(select(threads).where(threads.c.thread_id.in_(first))).all()
    return [
        {
            "thread_id": copy.thread_ids[row.thread_id],
            "user_email": copy.source.user_email,
            "root_activity_id": copy.ids.get(row.root_activity_id) or copy.ids[first[row.thread_id]],
            "title": row.title,
            "made_title": row.made_title or "",
            "created_at": copy.created_at,
        }
        for row in found
    ]


def _messages(connection: Connection, message_ids: Sequence[str]) -> Sequence[Row[*tuple[Any, ...]]]:
    activity = (_a[name] for name in ("recipe", "type", "reply_to_id", "thread_id"))
    actor = (_a.actor_type, _a.actor_id, _a.actor_name, _a.payload)
    query = select(*messages.c, *activity, *actor).join_from(messages, activities, _a.seq == _m.seq)
    return connection.execute(query.where(_m.message_id.in_(message_ids)).order_by(_m.ordinal)).all()


def _others(connection: Connection, activity_ids: Sequence[str]) -> Sequence[Row[*tuple[Any, ...]]]:
    if not activity_ids:
        return ()
    columns = [_a[name].label("message_id" if name == "activity_id" else name) for name in _OF_AN_ACTIVITY]
    return connection.execute(select(*columns).where(_a.activity_id.in_(activity_ids))).all()


def _begin(connection: Connection, copy: _Copy) -> ConversationRow | None:
    """Store the copy without its messages, unless it was made before: then that copy is returned."""
    source = copy.source
    made = created_before(connection, source.user_email, copy.conversation_id, domain=source.domain)
    if made is not None:
        return made
    values = {
        "conversation_id": copy.conversation_id,
        "user_email": source.user_email,
        "created_at": copy.created_at,
        "domain": source.domain,
        "title": copy.title,
        "title_force_set": int(source.title_force_set),
        "running_summary": source.running_summary,
        "summarised_ordinal": copy.summarised,
        "flag": source.flag,
        "settings": {name: value for name, value in source.settings.items() if name not in CONSENT},
        "memory": source.memory,
        "stateless": int(source.stateless),
        "has_documents": int(source.has_documents),
        "branch_id": copy.message_ids.get(source.branch_id or ""),
        "agent_id": source.agent_id,
        "deleted_at": copy.created_at,
        "incomplete_since": copy.created_at,
    }
    insert_conversation(connection, values, workspace_id=source.workspace_id)
    insert_tags(connection, source.tags, user_email=source.user_email, conversation_id=copy.conversation_id)
    if copy.message_ids:
        copy.friendly_id = assign_friendly_id(
            connection,
            user_email=source.user_email,
            conversation_id=copy.conversation_id,
            title=copy.title,
            created_at=copy.created_at,
        )
    if copy.new_threads:
        connection.execute(insert(threads), copy.new_threads)
    return None


def _add(
    connection: Connection,
    copy: _Copy,
    *,
    order: Sequence[str],
    rows: Sequence[dict[str, Any]],
    others: Sequence[Row[*tuple[Any, ...]]],
    cloned: ClonedRows,
) -> None:
    """Store one slice in this order; activities first, since they give the messages their `seq`."""
    copied: list[Mapping[str, Any]] = [*rows, *(dict(other._mapping) for other in others)]
    elsewhere = _replied_elsewhere(connection, copy, {row["reply_to_id"] for row in copied})
    born = {row["message_id"]: _activity(copy, row, elsewhere) for row in copied}
    all_stored = insert_activities(
        connection,
        [born[each] for each in order if each in born],
        user_email=copy.source.user_email,
        conversation_id=copy.conversation_id,
    )
    by_id = {new.activity_id: new for new in all_stored}
    stored = [by_id[copy.message_ids[row["message_id"]]] for row in rows]
    if said := [_message(copy, row, seq=new.seq) for row, new in zip(rows, stored, strict=True)]:
        connection.execute(insert(messages), said)
    gone = {new.seq: row["deleted_at"] for row, new in zip(rows, stored, strict=True) if row["deleted_at"]}
    for seq, deleted_at in gone.items():
        connection.execute(update(activities).where(_a.seq == seq).values(deleted_at=deleted_at))
    for table, own in cloned:
        insert_rows(connection, table, own)
    copies = [copy.message_ids[row["message_id"]] for row in rows]
    for having, column in _MARKS:
        if any(table is having and of_table for table, of_table in cloned):
            _mark(connection, copies, having=having, column=column)


def _replied_elsewhere(connection: Connection, copy: _Copy, reply_to_ids: Collection[str | None]) -> Mapping[str, str]:
    """Those of these activities that are in other conversations: what replies to them does so in the copy, too."""
    asked = [each for each in reply_to_ids if each is not None and each not in copy.ids]
    if not asked:
        return {}
    others = _a.activity_id.in_(asked), _a.conversation_id != copy.source.conversation_id
    return {each: each for each in connection.execute(select(_a.activity_id).where(*others)).scalars()}


def _activity(copy: _Copy, row: Mapping[str, Any], elsewhere: Mapping[str, str]) -> NewActivity:
    reply_to_id = copy.ids.get(row["reply_to_id"]) or elsewhere.get(row["reply_to_id"])
    place = Place(reply_to_id=reply_to_id, thread_id=copy.thread_ids.get(row["thread_id"]))
    return NewActivity(
        recipe=row["recipe"],
        type=row["type"],
        actor_type=row["actor_type"],
        actor_id=row["actor_id"],
        actor_name=row["actor_name"],
        created_at=row["created_at"],
        place=place,
        payload=renamed(row["payload"], copy.ids),
        session_id=row.get("session_id"),
        activity_id=copy.ids[row["message_id"]],
    )


def _message(copy: _Copy, row: Mapping[str, Any], *, seq: int) -> dict[str, Any]:
    copy.last_ordinal += 1
    short_hash = unique_message_short_hash(copy.friendly_id or "", row["text"], copy.hashes)
    copy.hashes.add(short_hash)
    return {
        **{name: row[name] for name in _KEPT},
        "seq": seq,
        "message_id": copy.message_ids[row["message_id"]],
        "conversation_id": copy.conversation_id,
        "ordinal": copy.last_ordinal,
        "message_short_hash": short_hash,
        "in_answer_to": copy.message_ids.get(row["in_answer_to"]),
        **_branch(copy, row),
    }


def _branch(copy: _Copy, row: Mapping[str, Any]) -> dict[str, Any]:
    if not copy.has_branches:
        copy.message_count += 1
        return dict.fromkeys(("branch_id", "branch_of", "chosen_branch", "other_branch"))
    copy.message_count += row["deleted_at"] is None and row["other_branch"] is None
    return {name: copy.message_ids.get(row[name]) for name in ("branch_id", "branch_of")}


def _reveal(connection: Connection, copy: _Copy) -> ConversationRow:
    connection.execute(
        update(conversations)
        .where(conversations.c.conversation_id == copy.conversation_id)
        .values(
            deleted_at=None,
            incomplete_since=None,
            updated_at=now_iso(),
            message_count=copy.message_count,
            last_ordinal=copy.last_ordinal,
            version=conversations.c.version + 1,
        )
    )
    row = read_live(connection, user_email=copy.source.user_email, conversation_id=copy.conversation_id)
    record_listed(connection, [row])
    return row
