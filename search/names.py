"""Conversations, messages and files by their names: a pasted friendly id or reference is looked up, too."""

from __future__ import annotations

from sqlalchemy import Connection, or_, select

from conversation_reference_utils import ConversationReference, classify_conversation_reference, parse_file_reference
from database.engine.text import storable
from database.messages.message import row_with_hash, rows_from
from database.schema import conversation_aliases, conversations

from .query import conversation_name

_c, _alias = conversations.c, conversation_aliases.c


def named_conversation(connection: Connection, user_email: str, name: str | None) -> str | None:
    """The id of the person's conversation of this id, friendly id or alias; None where there is none."""
    if not name:
        return None
    called = storable(name).lower()
    own = select(_c.conversation_id).where(
        _c.user_email == user_email, _c.deleted_at.is_(None), _c.expires_at.is_(None)
    )
    named = own.where(or_(_c.conversation_friendly_id == called, _c.conversation_id == storable(name)))
    aliased = own.join(conversation_aliases, _alias.conversation_id == _c.conversation_id).where(
        _alias.user_email == user_email, _alias.alias == called
    )
    found: str | None = connection.execute(named).scalar()
    return connection.execute(aliased).scalar() if found is None else found


def conversation_named_by(connection: Connection, user_email: str, name: str) -> str | None:
    """The id of the conversation that a name, or a reference to it or into it, leads to; None where there is none."""
    parts = _parts(name)
    called = [name.removeprefix("@"), conversation_name(name), parts.conv_fid if parts is not None else ""]
    found = (named_conversation(connection, user_email, each) for each in dict.fromkeys(called))
    return next(filter(None, found), None)


def messages_named_by(connection: Connection, user_email: str, name: str) -> list[int]:
    """`seq` of the messages that a reference to one, to a range of them, or to a file of one leads to, in order."""
    parts = _parts(name)
    if parts is None or parts.kind not in ("message", "range"):
        return []
    # A title may hold the word "message".
    if named_conversation(connection, user_email, parts.whole_candidate):
        return []
    conversation_id = named_conversation(connection, user_email, parts.conv_fid)
    return [] if conversation_id is None else _messages(connection, conversation_id, parts)


def file_named_by(name: str) -> int | None:
    """Which file of its message a reference names, from 1; None for any other text."""
    file = parse_file_reference(_prefixed(name))
    return file.number if file is not None else None


def _prefixed(name: str) -> str:
    return f"conversation_{conversation_name(name)}"


def _parts(name: str) -> ConversationReference | None:
    """A name as a reference, whose "@" and prefix may be missing; of one to a file, that of its message."""
    reference = _prefixed(name)
    file = parse_file_reference(reference)
    return classify_conversation_reference(reference if file is None else file.message)


def _messages(connection: Connection, conversation_id: str, parts: ConversationReference) -> list[int]:
    rows = []
    if parts.start and parts.end:
        rows = rows_from(connection, conversation_id, start=parts.start - 1, limit=parts.end - parts.start + 1)
    # An old hash may be all digits.
    if not rows and parts.kind == "message":
        row = row_with_hash(connection, conversation_id, parts.identifier)
        rows = [row] if row is not None else []
    return [row.seq for row in rows]
