"""References between messages: lookup of friendly ids, reports as they are stored, backlinks."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Text, bindparam, delete, insert, select, update

from conversation_reference_utils import is_activity_name, parse_references
from database.conversations.conversation import access_head, update_keeping_time
from database.engine.database import Database, Urgency
from database.engine.errors import MessageNotFoundError
from database.engine.statements import Prepared, pipelined
from database.messages.documents import Documents, store_documents
from database.messages.message import MESSAGE_INDEX, MessageRow, answering_model, previewed, text_beginning
from database.schema import conversation_aliases, conversations, message_references, messages

_SIGNS = ("@", "#")
_ONE_MESSAGE = ("message", "activity", "file")
_WHOLE_CONVERSATION = ("conversation", "message_range")
_FOUND_IN_TEXT = ("document", "agent")
_BACKLINKS = 200

_PLACE = Prepared(
    select(messages.c.conversation_id)
    .join(conversations, conversations.c.conversation_id == messages.c.conversation_id)
    .where(
        messages.c.message_id == bindparam("message"),
        messages.c.user_email == bindparam("owner"),
        messages.c.deleted_at.is_(None),
        conversations.c.deleted_at.is_(None),
    )
)
_KEEP = Prepared(update(messages).where(messages.c.message_id == bindparam("message")), columns=("report",))
_FORGET = Prepared(delete(message_references).where(message_references.c.message_id == bindparam("message")))
_REFER = Prepared(insert(message_references), columns=[column.name for column in message_references.c])


def store_report(
    *,
    database: Database,
    user_email: str,
    message_id: str,
    report: Sequence[Mapping[str, Any]],
    documents: Documents = (),
) -> None:
    """Keep the reference report of a message, in place of an earlier one, and let its targets know of it.

    report: entries with `ref`, `kind`, `status` and perhaps a `target`: `{conversation_id, message_id, …}`,
    `{claim_id}` or the like. documents: those that the message names, see `database.messages.documents`.
    Raises MessageNotFoundError.
    """
    store = partial(store_own_report, user_email=user_email, message_id=message_id, report=report, documents=documents)
    if not database.write(store, urgency=Urgency.STREAM):
        raise MessageNotFoundError


def store_own_report(
    connection: Connection,
    *,
    user_email: str,
    message_id: str,
    report: Sequence[Mapping[str, Any]],
    documents: Documents = (),
) -> bool:
    """`store_report` within a transaction; False where there is no such message."""
    row = _PLACE.row(connection, message=message_id, owner=user_email)
    if row is None:
        return False
    (conversation_id,) = row
    store_report_in(connection, report, message_id=message_id, user_email=user_email)
    if documents:
        store_documents(connection, message_id, documents, user_email=user_email, conversation_id=conversation_id)
    # What is asked counts as something new, and has been counted already.
    update_keeping_time(connection, conversation_id)
    return True


def store_report_in(
    connection: Connection, report: Sequence[Mapping[str, Any]], *, message_id: str, user_email: str
) -> None:
    """Store the report alone, for a message that is known to be this user's, also in the bin."""
    entries = [dict(entry) for entry in report]
    _KEEP.run(connection, message=message_id, report=entries)
    _FORGET.run(connection, message=message_id)
    rows = reference_rows(entries, message_id=message_id, user_email=user_email)
    if rows:
        _REFER.run_each(connection, rows)


def add_to_report(
    connection: Connection, entries: Sequence[Mapping[str, Any]], *, message_id: str, user_email: str
) -> None:
    """Add entries to the report of a message, in the place of those with the same `ref`.

    The variants of an answer share one report: what any of them cites refers to its target.
    """
    known = connection.execute(select(messages.c.report).where(messages.c.message_id == message_id)).scalar()
    report = {entry["ref"]: entry for entry in [*(known or ()), *entries]}
    store_report_in(connection, list(report.values()), message_id=message_id, user_email=user_email)


def forget_unnamed(connection: Connection, message: MessageRow, *, text: str) -> None:
    """Take out of the report of a message what it named, and does not name any more now that it says `text`.

    What was named beside its text stays, and so do documents, which are found in the text each time.
    """
    gone = _names_in(message.text) - _names_in(text) if message.report else set[str]()
    kept = [entry for entry in message.report if entry["ref"] not in gone]
    if len(kept) < len(message.report):
        store_report_in(connection, kept, message_id=message.message_id, user_email=message.user_email)


def named_beside(message: MessageRow) -> list[str]:
    """What the report of a question tells of and its text does not name: what was listed beside it."""
    named = _names_in(message.text) if message.report else set[str]()
    found = [entry for entry in message.report if entry["kind"] not in _FOUND_IN_TEXT]
    return [str(entry["ref"]) for entry in found if entry["ref"] not in named]


def _names_in(text: str) -> set[str]:
    """The references in a text, as reports name them."""
    named = parse_references(text)
    names = {name if is_activity_name(name) else f"@{name}" for name in named.friendly_ids}
    return names | {f"@memory:{claim_id}" for claim_id in named.claim_ids}


def reference_rows(report: Sequence[Mapping[str, Any]], *, message_id: str, user_email: str) -> list[dict[str, Any]]:
    """The rows of `message_references` that a message's report makes."""
    return [
        {"message_id": message_id, "position": position, "user_email": user_email} | _reference(entry)
        for position, entry in enumerate(report)
    ]


def backlinks(*, database: Database, user_email: str, message_id: str) -> list[dict[str, Any]]:
    """The live messages of this user that refer to this one, each once, newest first, at most 200.

    Each: `{message_id, conversation_id, conversation_friendly_id, title, message_index, message_short_hash, sender,
    model, preview, created_at}`.
    A reference to a file of the message is one to the message, a reference to a range or a whole conversation is none.
    Raises MessageNotFoundError.
    """
    with database.reading() as connection:
        _access(connection, user_email=user_email, message_id=message_id)
        query = _referring(user_email, message_references.c.target_message_id == message_id)
        return [previewed(row) for row in connection.execute(query).mappings()]


def backlinks_of_conversation(*, database: Database, user_email: str, conversation_id: str) -> list[dict[str, Any]]:
    """The live messages of this user that refer to a conversation as a whole, or to a range of it, as `backlinks` does.

    Raises ConversationNotFoundError.
    """
    means_it = (message_references.c.target_conversation_id == conversation_id) & (
        message_references.c.kind.in_(_WHOLE_CONVERSATION)
    )
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        return [previewed(row) for row in connection.execute(_referring(user_email, means_it)).mappings()]


def _referring(user_email: str, means_it: ColumnElement[bool]) -> Select[Any]:
    # A list of ids, not EXISTS: for EXISTS, SQLite reads all messages from the newest on.
    referring = select(message_references.c.message_id).where(message_references.c.user_email == user_email, means_it)
    return (
        select(
            messages.c.message_id,
            messages.c.conversation_id,
            conversations.c.conversation_friendly_id,
            conversations.c.title,
            MESSAGE_INDEX.label("message_index"),
            messages.c.message_short_hash,
            messages.c.sender,
            answering_model().label("model"),
            text_beginning(),
            messages.c.created_at,
        )
        .join(conversations, conversations.c.conversation_id == messages.c.conversation_id)
        .where(
            messages.c.message_id.in_(referring),
            messages.c.user_email == user_email,
            messages.c.deleted_at.is_(None),
            conversations.c.deleted_at.is_(None),
        )
        .order_by(messages.c.seq.desc())
        .limit(_BACKLINKS)
    )


def _access(connection: Connection, *, user_email: str, message_id: str) -> str:
    """The conversation of a live message of this user."""
    row = _PLACE.row(connection, message=message_id, owner=user_email)
    if row is None:
        raise MessageNotFoundError
    return str(row[0])


def _reference(entry: Mapping[str, Any]) -> dict[str, Any]:
    # What came along without being named (no "@") is no reference to it.
    target = (entry.get("target") or {}) if entry["ref"].startswith(_SIGNS) else {}
    others = [
        value for key, value in target.items() if key.endswith("_id") and key not in ("conversation_id", "message_id")
    ]
    return {
        "ref": entry["ref"],
        "kind": entry["kind"],
        "status": entry["status"],
        "target_conversation_id": target.get("conversation_id"),
        # A range names its first message, but means none of them in particular.
        "target_message_id": target.get("message_id") if entry["kind"] in _ONE_MESSAGE else None,
        "target_id": others[0] if others else None,
    }


_alias = conversation_aliases.c
_c = conversations.c


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedConversation:
    """What a friendly id of this user stands for. `deleted`: it lies in the bin. version: None where none is known."""

    conversation_id: str
    title: str
    deleted: bool
    version: int | None = None


def conversations_by_friendly_id(
    *, database: Database, user_email: str, friendly_ids: Collection[str]
) -> dict[str, NamedConversation]:
    """The conversations of this user that bear one of `friendly_ids`; ids that nobody bears are left out.

    An id that no conversation bears now may be an alias: what a conversation was called where it was imported from.
    """
    if not friendly_ids:
        return {}
    wanted = list(friendly_ids)
    # A statement for 1, 2, 4, 8, … of them: the last one fills what is left.
    wanted += wanted[-1:] * ((1 << (len(wanted) - 1).bit_length()) - len(wanted))
    named = {f"wanted_{number}": friendly_id for number, friendly_id in enumerate(wanted)}
    with database.reading() as connection, pipelined(connection):
        asked = [each.asked(connection, user_email=user_email, **named) for each in _leading(len(wanted))]
        bearing, aliased = (read() for read in asked)
    return {
        friendly_id: NamedConversation(
            conversation_id=conversation_id, title=title, deleted=deleted_at is not None, version=version
        )
        for friendly_id, conversation_id, title, deleted_at, version in (*aliased, *bearing)
    }


@cache
def _leading(count: int) -> tuple[Prepared, Prepared]:
    """The conversations that bear one of so many friendly ids, and those that have one as an alias."""
    wanted = [bindparam(f"wanted_{number}", type_=Text) for number in range(count)]
    owner = bindparam("user_email", type_=Text)
    shown = (_c.conversation_id, _c.title, _c.deleted_at, _c.version)
    bearing = select(_c.conversation_friendly_id, *shown)
    aliased = select(_alias.alias, *shown).join(conversations, _c.conversation_id == _alias.conversation_id)
    return (
        Prepared(bearing.where(_c.user_email == owner, _c.conversation_friendly_id.in_(wanted))),
        Prepared(aliased.where(_alias.user_email == owner, _alias.alias.in_(wanted))),
    )
