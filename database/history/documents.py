"""Which documents a conversation rests on, and which messages used a document."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, func, literal, or_, select, update

from database.conversations.conversation import access_head
from database.engine.database import Database
from database.messages.documents import FIELDS, shown
from database.messages.message import answering_model, live_in, places_of, previewed, text_beginning
from database.schema import conversations, document_references, messages

_d, _m = document_references.c, messages.c
_LATEST = 20
_USERS = 200
_SHOWN_VERSION: ColumnElement[bool] = _d.version == func.coalesce(_m.chosen_variant, 1)


@dataclass(slots=True, kw_only=True)
class ConversationDocument:
    """A document that messages of one conversation name or rest on, or a link that leads nowhere.

    reference: as the newest message has it. messages: `{message_id, message_index, message_short_hash, sender}` of
    each, newest first. used: one of them used it. direct: one of them links it.
    """

    reference: dict[str, Any]
    messages: list[dict[str, Any]] = field(default_factory=list)
    used: bool = False
    direct: bool = False


def conversation_documents(*, database: Database, user_email: str, conversation_id: str) -> list[ConversationDocument]:
    """The documents of the live messages on the active path, those of most messages first, then the latest.

    Raises ConversationNotFoundError.
    """
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        found: dict[str, ConversationDocument] = {}
        for reference, message in _newest_first(connection, conversation_id):
            key = reference["relative_path"] or reference["wikilink"]
            document = found.setdefault(key, ConversationDocument(reference=reference))
            document.messages.append(message)
            document.used |= reference["used"]
            document.direct |= reference["reference_type"] == "direct"
            document.reference["summary"] = document.reference["summary"] or reference["summary"]
    return sorted(found.values(), key=lambda document: (not document.used, -len(document.messages)))


def _newest_first(connection: Connection, conversation_id: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    message_columns = (_m.seq, _m.message_id, _m.message_short_hash, _m.sender)
    found = connection.execute(_named_in(conversation_id, *message_columns)).all()
    indexes = places_of(connection, list({row.seq for row in found}))
    for seq, message_id, short_hash, sender, *values in found:
        message = {
            "message_id": message_id,
            "message_index": indexes[seq],
            "message_short_hash": short_hash,
            "sender": sender,
        }
        yield shown(zip(FIELDS, values, strict=True)), message


def _named_in(conversation_id: str, *message_columns: Any) -> Select[Any]:
    """What the live messages on the active path name, the newest message first: columns of these, then `FIELDS`."""
    return (
        select(*message_columns, *(_d[name] for name in FIELDS))
        .join(messages, _m.message_id == _d.message_id)
        .where(live_in(conversation_id), _m.has_documents == 1, _SHOWN_VERSION)
        .order_by(_m.ordinal.desc(), _d.position)
    )


def latest_documents(
    *, database: Database, user_email: str, conversation_id: str, without: str
) -> list[dict[str, Any]]:
    """The latest 20 documents that the conversation used, newest first, each once; none that lead nowhere.

    without: the message (message_id) whose documents don't count.
    """
    others = (_m.user_email == user_email) & (_m.message_id != without)
    query = _named_in(conversation_id).where(others, _d.relative_path.is_not(None), _d.used == 1)
    latest: dict[str, dict[str, Any]] = {}
    with database.reading() as connection:
        for values in connection.execute(query):
            reference = shown(zip(FIELDS, values, strict=True))
            latest.setdefault(reference["relative_path"], reference)
            if len(latest) >= _LATEST:
                break
    return list(latest.values())


def messages_using(*, database: Database, user_email: str, path: str) -> list[dict[str, Any]]:
    """The live messages of this user that name, read or cite the document, newest first, at most 200.

    Each: `{message_id, conversation_id, conversation_friendly_id, title, message_short_hash, sender, model, preview,
    created_at, reference_type, via_tool}`.
    """
    with database.reading() as connection:
        return [previewed(row) for row in connection.execute(_using(user_email, path)).mappings()]


def _using(user_email: str, path: str) -> Select[Any]:
    return (
        select(
            _m.message_id,
            _m.conversation_id,
            conversations.c.conversation_friendly_id,
            conversations.c.title,
            _m.message_short_hash,
            _m.sender,
            answering_model().label("model"),
            text_beginning(),
            _m.created_at,
            _d.reference_type,
            _d.via_tool,
        )
        .join(messages, _m.message_id == _d.message_id)
        .join(conversations, conversations.c.conversation_id == _m.conversation_id)
        .where(
            _d.user_email == user_email,
            _d.relative_path == path,
            _d.used == 1,
            _SHOWN_VERSION,
            _m.deleted_at.is_(None),
            conversations.c.deleted_at.is_(None),
        )
        .order_by(_m.seq.desc())
        .limit(_USERS)
    )


def follow_renamed(connection: Connection, *, user_email: str, path: str, new_path: str) -> None:
    """Let references to a document that was renamed lead to it; `path` and `new_path` may also be folders."""
    moved = literal(new_path) + func.substr(_d.relative_path, len(path) + 1)
    inside = func.substr(_d.relative_path, 1, len(path) + 1) == f"{path}/"
    own = (_d.user_email == user_email) & or_(_d.relative_path == path, inside)
    connection.execute(update(document_references).where(own).values(relative_path=moved))
