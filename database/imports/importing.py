"""Storing conversations whose messages exist already, in one transaction, with the same rows that turns leave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.exc import IntegrityError

from conversation_reference_utils import unique_message_short_hash
from database.activities.erasing import erase_blanks
from database.activities.renaming import id_of_copy, ids_known, ids_of_others, renamed, renamed_activity
from database.activities.storing import NewActivity, Place, StoredActivity, insert_activities, insert_into_new
from database.agents.repository import id_of_slug
from database.conversations.conversation import record_listed
from database.conversations.friendly_ids import add_alias
from database.conversations.repository import insert_conversation, insert_conversations, read_live
from database.conversations.tags import insert_tags
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import ConflictError
from database.engine.statements import Prepared, insert_rows, while_asking
from database.engine.text import storable
from database.history.references import reference_rows
from database.messages.branch_tree import BranchTree, Fork
from database.messages.documents import document_rows
from database.messages.parts import part_rows
from database.schema import (
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
from sentences import say

from .changes import BroughtBy, Notes, note_said
from .origins import Arrived, Origin, note_brought, note_origins, versions_of
from .outside import NOTHING, Outside, link_or_note, threads_to_store
from .standing import id_to_store, is_taken, known_rooms
from .workspaces import Folder, workspace_at, workspace_or_default

_AT_ONCE = 10_000
_COUNTED = Prepared(
    update(conversations).where(conversations.c.conversation_id == bindparam("counted")),
    columns=("message_count", "last_ordinal", "branch_id", "has_documents"),
)

Message = Mapping[str, Any]
"""A message in the shape of the message list; `sender` and `text` alone are required.

versions: of an answer that was made again, each with its number, parts and documents. edits: its earlier texts.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """What a conversation is, its messages apart. columns: domain and title among them.

    Without a friendly id, messages that bring no short hash get theirs when the conversation is named.
    """

    conversation_id: str
    friendly_id: str | None
    columns: Mapping[str, Any]
    tags: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewConversation(_Head):
    """A conversation about to be stored. workspace_id: None for the default one."""

    messages: Sequence[Message]
    workspace_id: str | None = None


class Room(NamedTuple):
    """The conversation in which messages are stored, behind those that it has. last_ordinal: of the last of these."""

    user_email: str
    conversation_id: str
    friendly_id: str | None
    last_ordinal: int = 0

    @property
    def own(self) -> dict[str, str]:
        """Its owner and its id."""
        return {"user_email": self.user_email, "conversation_id": self.conversation_id}


def import_conversations(
    connection: Connection,
    new: Sequence[NewConversation],
    *,
    user_email: str,
    is_checked: bool = False,
    recorded: int | None = None,
) -> list[dict[str, Any]]:
    """Store conversations with the same columns, all by the same statements; the rows of their messages, in order.

    is_checked: see `insert_conversation`. recorded: so many of them are told to open pages; None is all. Raises
    IntegrityError where identifiers occur twice, ConflictError where the branches of the messages make no sense.
    """
    said, rows = [message for each in new for message in each.messages], list[dict[str, Any]]()
    heads, born = list[tuple[Mapping[str, Any], str | None]](), list[tuple[str, NewActivity]]()
    for each in new:
        room = Room(user_email, each.conversation_id, each.friendly_id)
        activities_of = [_activity(message, user_email) for message in while_asking(connection, each.messages)]
        its = _message_rows(connection, each.messages, activities_of, room)
        named = {**room.own, "conversation_friendly_id": each.friendly_id}
        heads.append(({**named, **each.columns, **_on_path(its)}, each.workspace_id))
        born += [(each.conversation_id, activity) for activity in activities_of]
        rows += its
    insert_conversations(connection, heads, is_checked=is_checked)
    for each in new:
        insert_tags(connection, each.tags, user_email=user_email, conversation_id=each.conversation_id)
    stored = insert_into_new(connection, born, user_email=user_email)
    _insert_messages(connection, said, rows, stored, user_email=user_email)
    insert_rows(connection, threads, _threads(said, rows, user_email=user_email))
    told = (each.conversation_id for each in new[:recorded])
    record_listed(connection, [read_live(connection, user_email=user_email, conversation_id=one) for one in told])
    return rows


def import_conversation(
    connection: Connection,
    imported: Sequence[Message],
    *,
    user_email: str,
    conversation_id: str,
    friendly_id: str | None,
    tags: Sequence[str] = (),
    workspace_id: str | None = None,
    **columns: Any,
) -> list[dict[str, Any]]:
    """`import_conversations` for one. columns: of the conversation."""
    new = NewConversation(
        conversation_id=conversation_id,
        friendly_id=friendly_id,
        messages=imported,
        columns=columns,
        tags=tags,
        workspace_id=workspace_id,
    )
    return import_conversations(connection, [new], user_email=user_email)


def add_messages(connection: Connection, imported: Sequence[Message], room: Room) -> list[dict[str, Any]]:
    """Store further messages behind all that a conversation has; their rows. The caller chooses the path and counts."""
    born = [_activity(message, room.user_email) for message in imported]
    return add_stored_messages(connection, imported, insert_activities(connection, born, **room.own), room)


def add_stored_messages(
    connection: Connection, imported: Sequence[Message], stored: Sequence[StoredActivity], room: Room
) -> list[dict[str, Any]]:
    """`add_messages` for messages whose activities are stored. A short hash that is taken is made anew."""
    short_hash = messages.c.message_short_hash
    bearing = select(short_hash).where(messages.c.conversation_id == room.conversation_id, short_hash.is_not(None))
    taken = frozenset(connection.execute(bearing).scalars())
    imported = [
        {**each, "message_short_hash": None} if each.get("message_short_hash") in taken else each for each in imported
    ]
    rows = _message_rows(connection, imported, stored, room, taken=taken)
    _insert_messages(connection, imported, rows, stored, user_email=room.user_email)
    return rows


def _insert_messages(
    connection: Connection,
    imported: Sequence[Message],
    rows: Sequence[dict[str, Any]],
    stored: Sequence[StoredActivity],
    *,
    user_email: str,
) -> None:
    """Store the rows of messages, whose activities are stored, with all that belongs to them."""
    for row, activity in zip(rows, stored, strict=True):
        row["seq"] = activity.seq
    _delete_activities(connection, rows)
    everything = {
        messages: rows,
        message_references: _references(while_asking(connection, rows), user_email=user_email),
        message_variants: _variants(imported, while_asking(connection, rows)),
        message_parts: _parts(imported, while_asking(connection, rows)),
        document_references: _documents(imported, while_asking(connection, rows), user_email=user_email),
        message_edits: _edits(imported, while_asking(connection, rows)),
    }
    for table, new in everything.items():
        insert_rows(connection, table, new)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedActivity:
    """An activity of a file. message: what it says, in the shape of `Message`; None for what is no message."""

    conversation_id: str
    activity: NewActivity
    message: Message | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedConversation(_Head):
    """A conversation of a file. folders: that it lies in, from the top down. workspace_id: where it goes without any.

    agent: the slug of the one that answers in it, if the person has it; None for the conversation's own model.
    aliases: the names that it had elsewhere. origin: what another program calls it, from which it came.
    """

    folders: Sequence[Folder] = ()
    workspace_id: str | None = None
    agent: str | None = None
    aliases: Sequence[str] = ()
    origin: Origin | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """What was stored of a file: how many conversations and activities, and how many conversations are up to date now.

    dropped: how many references named an activity or a thread that is not in the file. without_agent: the title of each
    conversation in which an agent answered that the person has not, by the agent's slug. differing: how many messages
    say something else in the file than here, which stays. is_here: all of it is here, by what its source calls it.
    binned: the title of each conversation of the file that is in the bin here, and how many of its activities stay out.
    """

    conversations: int
    activities: int
    dropped: int = 0
    updated: int = 0
    differing: int = 0
    is_here: bool = False
    without_agent: Sequence[tuple[str, str]] = ()
    binned: Sequence[tuple[str, int]] = ()


def store_file(
    imported: Sequence[ImportedActivity],
    conversations_of_file: Sequence[ImportedConversation],
    threads_of_file: Sequence[Mapping[str, Any]],
    *,
    database: Database,
    user_email: str,
    new_ids: Mapping[str, str] = MappingProxyType({}),
    outside: Outside = NOTHING,
    by: BroughtBy | None = None,
) -> ImportedFile:
    """Store conversations, activities in order, and their threads, in one transaction.

    Conversations of another account get new ids; a friendly id that is taken is made anew. Activities and threads
    whose ids another person's have get new ones, and so does whatever names them in the file: nobody learns from an
    import what others have. A thread of a session that the person has a thread of already is none of that session.
    new_ids: of other things that messages name, by their ids there. outside: what the file names that
    is not in it. by: the import that notes what it brings.
    A file without messages adds what is new in it, also to conversations that are here.
    Raises ConflictError where an activity of a file with messages is the person's already, where nothing is new, or
    what the file holds contradicts itself.
    """
    adds = all(each.message is None for each in imported)

    def job(connection: Connection) -> ImportedFile:
        used = {each.conversation_id for each in imported}
        here = known_rooms(connection, used, user_email=user_email) if adds else {}
        new = [each for each in conversations_of_file if each.conversation_id not in here]
        ids = here | {
            name: id_to_store(connection, name, user_email, is_empty=name not in used)
            for name in (each.conversation_id for each in new)
        }
        of_file = [each.activity.activity_id for each in imported]
        copies = [id_of_copy(name, user_email) for name in of_file]
        erase_blanks(connection, [*of_file, *copies], user_email=user_email)
        activities_of_file, thread_rows_of_file, all_ids = _as_stored(
            connection, imported, threads_of_file, {**new_ids, **ids}, user_email=user_email, adds=adds
        )
        named = outside.renamed(all_ids)
        new_threads = threads_to_store(connection, thread_rows_of_file, named, user_email=user_email)
        friendly_ids = {ids[each.conversation_id]: each.friendly_id for each in new}
        without_agent = list[tuple[str, str]]()
        for each in new:
            conversation_id = ids[each.conversation_id]
            if is_taken(connection, each.friendly_id, user_email):
                friendly_ids[conversation_id] = None
            own = {"user_email": user_email, "conversation_id": conversation_id}
            names = {"conversation_friendly_id": friendly_ids[conversation_id]}
            notes = Notes(connection, user_email, None if by is None else by.import_id, conversation_id)
            domain = each.columns["domain"]
            place = workspace_at(notes, each.folders, domain=domain)
            place = place or workspace_or_default(connection, each.workspace_id, user_email=user_email, domain=domain)
            if each.agent is not None:
                names["agent_id"] = id_of_slug(connection, each.agent, user_email=user_email)
                without_agent += [(each.columns["title"], each.agent)] if names["agent_id"] is None else []
            insert_conversation(connection, {**own, **names, **each.columns}, workspace_id=place)
            if by is not None:
                note_brought(notes, each.origin, source=by.source, columns=each.columns, tags=each.tags)
            moved = [each.friendly_id] if each.friendly_id is not None and friendly_ids[conversation_id] is None else []
            for alias in (*moved, *each.aliases):
                add_alias(connection, alias, conversation_id, user_email=user_email)
            insert_tags(connection, each.tags, **own)
        notes = Notes(connection, user_email, None if by is None else by.import_id)
        origins = {ids[each.conversation_id]: each.origin for each in new}
        _store_imported(notes, activities_of_file, ids, friendly_ids, origins)
        insert_rows(connection, threads, new_threads)
        rooms = {each.activity.activity_id: ids.get(each.conversation_id) for each in activities_of_file}
        dropped = link_or_note(notes, named, rooms)
        record_listed(
            connection,
            [read_live(connection, user_email=user_email, conversation_id=each) for each in friendly_ids],
        )
        return ImportedFile(
            conversations=len(new),
            activities=len(activities_of_file),
            updated=len(here) or int(len(activities_of_file) < len(imported)),
            dropped=dropped,
            without_agent=without_agent,
        )

    try:
        return database.write(job)
    except IntegrityError as error:
        raise ConflictError("An identifier occurs twice.") from error


def _store_imported(
    notes: Notes,
    imported: Sequence[ImportedActivity],
    ids: Mapping[str, str],
    friendly_ids: Mapping[str, str | None],
    origins: Mapping[str, Origin | None],
) -> None:
    """Store activities in the order of the file, whichever conversations they are in, then what their messages say."""
    connection, user_email = notes.connection, notes.user_email
    said: defaultdict[str, list[tuple[Message, StoredActivity]]] = defaultdict(list)
    for room, run in groupby(imported, key=attrgetter("conversation_id")):
        some = list(run)
        # The rooms beside the conversations are called after their owners.
        here = ids.get(room) or f"{user_email}_{room.rpartition('_')[2]}"
        own = {"user_email": user_email, "conversation_id": here}
        stored = insert_activities(connection, [each.activity for each in some], **own)
        said[here] += [(each.message, row) for each, row in zip(some, stored, strict=True) if each.message is not None]
        others = [each.activity.activity_id for each in some if each.message is None]
        replace(notes, conversation_id=ids.get(room)).added("activity", others)
    for conversation_id, friendly_id in friendly_ids.items():
        pairs = said[conversation_id]
        its, activities_of = [message for message, _ in pairs], [row for _, row in pairs]
        rows = _message_rows(connection, its, activities_of, Room(user_email, conversation_id, friendly_id))
        _COUNTED.run(connection, counted=conversation_id, **_on_path(rows))
        _insert_messages(connection, its, rows, activities_of, user_email=user_email)
        numbered = zip(rows, map(numbers_of, its), strict=True)
        own_notes = replace(notes, conversation_id=conversation_id)
        note_said(own_notes, numbered)
        note_origins(own_notes, origins[conversation_id], Arrived(said=its, numbers=versions_of(its)))


def _as_stored(
    connection: Connection,
    imported: Sequence[ImportedActivity],
    threads_of_file: Sequence[Mapping[str, Any]],
    others: Mapping[str, str],
    *,
    user_email: str,
    adds: bool,
) -> tuple[Sequence[ImportedActivity], list[dict[str, Any]], Mapping[str, str]]:
    """The activities, and the rows of the threads, with ids and sessions that are free; the new ids.

    others: the ids that conversations and other things of the file get. adds: only those that are not here yet. Raises
    ConflictError.
    """
    of_file: dict[str, Any] = {
        "activity_ids": [each.activity.activity_id for each in imported],
        "thread_ids": [each["thread_id"] for each in threads_of_file],
        "user_email": user_email,
    }
    known, new_ids = ids_known(connection, **of_file) if adds else (set(), ids_of_others(connection, **of_file))
    new_ids |= {former: own for former, own in others.items() if former != own}
    rows = thread_rows(connection, threads_of_file, new_ids, user_email=user_email)
    stored = with_new_ids(connection, imported, new_ids)
    new = [each for each in stored if each.activity.activity_id not in known] if known else stored
    if imported and not new:
        raise ConflictError(say("file_is_here_already"))
    return new, rows, new_ids


def with_new_ids(
    connection: Connection, imported: Sequence[ImportedActivity], new_ids: Mapping[str, str]
) -> Sequence[ImportedActivity]:
    """The activities, which name themselves and others by new ids."""
    if not new_ids:
        return imported
    return [
        replace(
            each,
            activity=renamed_activity(each.activity, new_ids),
            message=None if each.message is None else renamed(each.message, new_ids),
        )
        for each in while_asking(connection, imported)
    ]


def thread_rows(
    connection: Connection,
    threads_of_file: Sequence[Mapping[str, Any]],
    new_ids: Mapping[str, str],
    *,
    user_email: str,
) -> list[dict[str, Any]]:
    """The rows of the threads of a file. new_ids: instead of those of the file."""
    keys = [each["session_key"] for each in threads_of_file if each.get("session_key") is not None]
    known = _known_sessions(connection, keys, user_email=user_email)
    rows = []
    for each in threads_of_file:
        names = {name: new_ids.get(each[name], each[name]) for name in ("thread_id", "root_activity_id")}
        session_key = None if each.get("session_key") in known else each.get("session_key")
        rows.append({**each, **names, "session_key": session_key, "user_email": user_email})
    return rows


def _known_sessions(connection: Connection, keys: Sequence[str], *, user_email: str) -> set[str]:
    """Those of these sessions that the person has a thread of."""
    found: set[str] = set()
    for start in range(0, len(keys), _AT_ONCE):
        own = threads.c.user_email == user_email, threads.c.session_key.in_(keys[start : start + _AT_ONCE])
        found.update(connection.execute(select(threads.c.session_key).where(*own)).scalars())
    return found


def _on_path(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Choose the path of a conversation; its columns that follow from its messages."""
    active_branch = _choose_path(rows)
    return {
        "message_count": sum(row["deleted_at"] is None and row["other_branch"] is None for row in rows),
        "last_ordinal": len(rows),
        "branch_id": active_branch,
        "has_documents": max((row["has_documents"] for row in rows), default=0),
    }


def _delete_activities(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """The activities of deleted messages are deleted too."""
    for row in rows:
        if row["deleted_at"] is not None:
            gone = activities.c.seq == row["seq"]
            connection.execute(update(activities).where(gone).values(deleted_at=row["deleted_at"]))


def _references(rows: Iterable[dict[str, Any]], *, user_email: str) -> list[dict[str, Any]]:
    return [
        reference
        for row in rows
        for reference in reference_rows(row["report"], message_id=row["message_id"], user_email=user_email)
    ]


def _versions(message: Message) -> Sequence[Message]:
    """The versions of a message: all variants of an answer that was made again, else the message itself."""
    return message.get("versions") or [{**message, "number": 1}]


def numbers_of(message: Message) -> list[int]:
    """The numbers of the versions of a message."""
    return [version["number"] for version in _versions(message)]


def _variants(imported: Sequence[Message], rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    fields = ("number", "text", "status", "config", "created_at")
    return [
        {"message_id": row["message_id"]} | {name: version[name] for name in fields}
        for row, message in zip(rows, imported, strict=True)
        for version in message.get("versions") or ()
    ]


def _edits(imported: Sequence[Message], rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"message_id": row["message_id"], "text": edit["text"], "replaced_at": edit["replaced_at"]}
        for row, message in zip(rows, imported, strict=True)
        for edit in message.get("edits") or ()
    ]


def _parts(imported: Sequence[Message], rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        part
        for row, message in zip(rows, imported, strict=True)
        for version in _versions(message)
        for part in part_rows(row["message_id"], version.get("parts") or (), version=version["number"])
    ]


def _documents(imported: Sequence[Message], rows: Iterable[dict[str, Any]], *, user_email: str) -> list[dict[str, Any]]:
    return [
        document
        for row, message in zip(rows, imported, strict=True)
        for version in _versions(message)
        for document in document_rows(
            row["message_id"],
            version.get("document_references") or (),
            user_email=user_email,
            version=version["number"],
        )
    ]


def store_conversation(imported: Sequence[Message], *, database: Database, **conversation: Any) -> None:
    """`import_conversation` in a transaction of its own. Raises ConflictError where identifiers are not unique."""
    try:
        database.write(lambda connection: import_conversation(connection, imported, **conversation))
    except IntegrityError as error:
        raise ConflictError("An identifier occurs twice.") from error


def _activity(message: Message, user_email: str) -> NewActivity:
    is_user = message["sender"] == "user"
    name = user_email if is_user else str((message.get("config") or {}).get("model") or "")
    named = {"activity_id": message["message_id"]} if "message_id" in message else {}
    return NewActivity(
        recipe="general-discussion",
        type="chat_message",
        actor_type="user" if is_user else "assistant",
        actor_id=name,
        actor_name=name,
        created_at=message.get("created_at") or now_iso(),
        place=Place(reply_to_id=message.get("reply_to_id"), thread_id=message.get("thread_id")),
        short_id=message.get("short_id"),
        **named,
    )


def _message_rows(
    connection: Connection,
    imported: Sequence[Message],
    born: Sequence[NewActivity | StoredActivity],
    room: Room,
    *,
    taken: Iterable[str] = (),
) -> list[dict[str, Any]]:
    """The rows of messages without their `seq`, which the store gives their activities."""
    hashes = {message["message_short_hash"] for message in imported if message.get("message_short_hash")}.union(taken)
    questions: dict[str | None, str] = {}
    rows: list[dict[str, Any]] = []
    for message, activity in zip(while_asking(connection, imported), born, strict=True):
        text, short_hash = storable(message["text"]), message.get("message_short_hash")
        if short_hash is None and room.friendly_id is not None:
            short_hash = unique_message_short_hash(room.friendly_id, text, hashes)
            hashes.add(short_hash)
        given = {"message_id": activity.activity_id, "text": text, "message_short_hash": short_hash}
        row = {**room.own, **given, "ordinal": room.last_ordinal + len(rows) + 1, **_said(message)}
        # Several answers in a row are answers to the same question.
        answered = None if row["sender"] == "user" else questions.get(row["branch_id"])
        row["in_answer_to"] = message.get("in_answer_to", answered)
        if row["sender"] == "user":
            questions[row["branch_id"]] = activity.activity_id
        rows.append(row)
    return rows


def _said(message: Message) -> dict[str, Any]:
    """The columns that a message brings along."""
    return {
        "sender": message["sender"],
        "status": message.get("status", "complete"),
        "show_hide": message.get("show_hide", "show"),
        "config": message.get("config") or {},
        "report": message.get("references") or [],
        "has_parts": int(any(version.get("parts") for version in _versions(message))),
        "has_documents": int(any(version.get("document_references") for version in _versions(message))),
        "chosen_variant": message.get("chosen_variant") if message.get("versions") else None,
        "created_at": message.get("created_at") or now_iso(),
        "edited_at": message.get("edited_at"),
        "pinned_at": message.get("pinned_at"),
        "deleted_at": message.get("deleted_at"),
        "branch_id": message.get("branch_id"),
        "branch_of": message.get("branch_of"),
        "chosen_branch": message.get("chosen_branch"),
        # The agent itself is nothing that a file can bring along.
        "source_agent_title": message.get("source_agent_title"),
    }


def _choose_path(rows: Sequence[dict[str, Any]]) -> str | None:
    """Set `other_branch` of the rows by the choices among them; the branch that the active path ends in.

    Raises ConflictError unless every branch begins with a question that stands before what the branch holds.
    """
    first_ones: set[str] = set()
    branches: set[str | None] = {None}
    for row in rows:
        if row["branch_of"] is not None:
            if row["branch_of"] not in first_ones or row["sender"] != "user":
                raise ConflictError("A branch begins in the place of a message that is not there.")
            branches.add(row["message_id"])
        elif row["sender"] == "user":
            first_ones.add(row["message_id"])
        if row["branch_id"] not in branches:
            raise ConflictError("A message lies in a branch that is not there.")
    forks = [Fork(*(row[name] for name in Fork._fields)) for row in rows if row["branch_of"] or row["chosen_branch"]]
    path = BranchTree(forks).path()
    for row in rows:
        on_path = any(stretch.holds(row["branch_id"], row["ordinal"]) for stretch in path)
        row["other_branch"] = None if on_path else 1
    return path[-1].branch_id


def _threads(imported: Sequence[Message], rows: Sequence[Message], *, user_email: str) -> list[dict[str, Any]]:
    """The threads that the messages are in; the root of each is its first message."""
    roots: dict[str, Message] = {}
    for message, row in zip(imported, rows, strict=True):
        if message.get("thread_id"):
            roots.setdefault(message["thread_id"], row)
    return [
        {
            "thread_id": thread_id,
            "user_email": user_email,
            "root_activity_id": root["message_id"],
            "created_at": root["created_at"],
            # Nobody waits for titles of threads that were there already.
            "made_title": "",
        }
        for thread_id, root in roots.items()
    ]
