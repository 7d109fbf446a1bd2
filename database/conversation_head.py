"""What every change to a conversation has to know of it first: whose it is, how long it is, what it is called."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, bindparam, select, update

from .clock import now_iso
from .errors import ConversationNotFoundError
from .prepared import Prepared
from .schema import conversations

_c = conversations.c
_HEADS = select(
    _c.conversation_id,
    _c.user_email,
    _c.created_at,
    _c.conversation_friendly_id,
    _c.title,
    _c.title_force_set,
    _c.message_count,
    _c.last_ordinal,
    _c.running_message_id,
    _c.stateless,
).where(_c.user_email == bindparam("user_email"), _c.conversation_id == bindparam("conversation_id"))
_HEAD, _LIVE_HEAD = Prepared(_HEADS), Prepared(_HEADS.where(_c.deleted_at.is_(None)))
_TOUCH = update(conversations).where(_c.conversation_id == bindparam("touched")).values(version=_c.version + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationHead:
    """The head of one conversation, as of this transaction.

    message_count: of live messages. stateless: turns that begin now are not kept.
    """

    conversation_id: str
    user_email: str
    created_at: str
    friendly_id: str | None
    title: str
    title_force_set: bool
    message_count: int
    last_ordinal: int
    running_message_id: str | None
    stateless: bool


_FIELDS = tuple(ConversationHead.__dataclass_fields__)


def access_head(connection: Connection, *, user_email: str, conversation_id: str) -> ConversationHead:
    """The head of a conversation of this user.

    Raises ConversationNotFoundError for a missing one, another user's, and one in the bin.
    """
    return _one(connection, _LIVE_HEAD, user_email=user_email, conversation_id=conversation_id)


def head_even_in_bin(connection: Connection, *, user_email: str, conversation_id: str) -> ConversationHead:
    """`access_head` that also finds what lies in the bin, where a turn is finished too, so that it can be restored."""
    return _one(connection, _HEAD, user_email=user_email, conversation_id=conversation_id)


def touch(connection: Connection, conversation_id: str, **changes: Any) -> None:
    """Apply `changes` to the conversation's row, with a new version and time, so that nobody keeps a stale copy."""
    touch_quietly(connection, conversation_id, updated_at=now_iso(), **changes)


def touch_quietly(connection: Connection, conversation_id: str, **changes: Any) -> None:
    """`touch` for what doesn't count as something new: the time, and with it the place in lists, stays."""
    _touching(tuple(changes)).run(connection, touched=conversation_id, **changes)


@cache
def _touching(columns: tuple[str, ...]) -> Prepared:
    return Prepared(_TOUCH, columns=columns)


def _one(connection: Connection, query: Prepared, *, user_email: str, conversation_id: str) -> ConversationHead:
    row = query.row(connection, user_email=user_email, conversation_id=conversation_id)
    if row is None:
        raise ConversationNotFoundError
    values = dict(zip(_FIELDS, row, strict=True))
    for flag in ("title_force_set", "stateless"):
        values[flag] = bool(values[flag])
    return ConversationHead(**values)
