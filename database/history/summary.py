"""The running summary of a conversation: the messages it does not cover yet, its storage, and its invalidation.

It covers the live messages up to `summarised_ordinal` that are not hidden from models.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, Text, bindparam, func, select, update

from database.conversations.conversation import update_keeping_time
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError
from database.engine.statements import Prepared
from database.messages.message import live_in
from database.messages.unkept import is_unkept
from database.schema import conversations, messages

_c = conversations.c
_m = messages.c
_HERE = bindparam("conversation_id", type_=Text)
_SUMMARY = Prepared(
    select(_c.running_summary, _c.summarised_ordinal).where(
        _c.user_email == bindparam("user_email"), _c.conversation_id == _HERE, _c.deleted_at.is_(None)
    )
)
_SAID = Prepared(
    select(
        _m.ordinal,
        _m.message_id,
        _m.sender,
        func.substr(_m.text, 1, bindparam("max_chars", type_=Integer)),
        _m.status,
        _m.config,
    )
    .where(live_in(_HERE), _m.ordinal > bindparam("after", type_=Integer), _m.show_hide != "hide")
    .order_by(_m.ordinal)
    .limit(bindparam("limit", type_=Integer))
)
_COUNT = Prepared(select(func.count()).where(live_in(_HERE), _m.ordinal <= bindparam("up_to", type_=Integer)))
_FORGET = Prepared(
    update(conversations)
    .where(_c.conversation_id == _HERE, _c.summarised_ordinal >= bindparam("ordinal", type_=Integer))
    .values(running_summary="", summarised_ordinal=0)
)


class Said(NamedTuple):
    """A message as a summary reads it. `text`: the beginning of its text."""

    ordinal: int
    message_id: str
    sender: str
    text: str
    status: str = "complete"
    config: Any = None

    @property
    def settled(self) -> bool:
        """Whether the message is final, unless somebody edits it."""
        return self.status != "streaming" and not is_unkept(self.config or {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsummarised:
    """A running summary, and the messages after it.

    ordinal: of the last message that `summary` covers, 0 for none. messages: the following ones in order, up to the
    first that is not settled, each with at most `max_chars` of its text.
    """

    summary: str
    ordinal: int
    messages: Sequence[Said]
    max_chars: int


def unsummarised(
    *, database: Database, user_email: str, conversation_id: str, limit: int, max_chars: int
) -> Unsummarised:
    """The first `limit` messages that the summary does not cover yet. Raises ConversationNotFoundError."""
    with database.reading() as connection:
        summary, ordinal = _stored(connection, user_email=user_email, conversation_id=conversation_id)
        said = _said(connection, conversation_id, after=ordinal, limit=limit, max_chars=max_chars)
    settled = tuple(takewhile(lambda message: message.settled, said))
    return Unsummarised(summary=summary, ordinal=ordinal, messages=settled, max_chars=max_chars)


def store_summary(
    *, database: Database, user_email: str, conversation_id: str, summary: str, since: Unsummarised, read: int
) -> bool:
    """Store `summary`, which covers the first `read` messages of `since` too.

    False, with nothing stored, where these messages or the previous summary have changed meanwhile.
    Raises ConversationNotFoundError.
    """
    told = since.messages[:read]

    def store(connection: Connection) -> bool:
        before = _stored(connection, user_email=user_email, conversation_id=conversation_id)
        now = _said(connection, conversation_id, after=since.ordinal, limit=read, max_chars=since.max_chars)
        # Status is not compared: an answer that is being regenerated changes the summary when it ends.
        if before != (since.summary, since.ordinal) or [row[:4] for row in now] != [row[:4] for row in told]:
            return False
        update_keeping_time(connection, conversation_id, running_summary=summary, summarised_ordinal=told[-1].ordinal)
        return True

    return database.write(store)


def count_summarised(*, database: Database, user_email: str, conversation_id: str) -> int:
    """How many live messages there are up to the last one that the summary covers. Raises ConversationNotFoundError."""
    with database.reading() as connection:
        _, ordinal = _stored(connection, user_email=user_email, conversation_id=conversation_id)
        row = _COUNT.row(connection, conversation_id=conversation_id, up_to=ordinal)
    return 0 if row is None else int(row[0])


def forget_summary(connection: Connection, conversation_id: str, *, ordinal: int) -> None:
    """Delete the summary if it covers the message at `ordinal`, which has changed."""
    _FORGET.run(connection, conversation_id=conversation_id, ordinal=ordinal)


def _stored(connection: Connection, *, user_email: str, conversation_id: str) -> tuple[str, int]:
    row = _SUMMARY.row(connection, user_email=user_email, conversation_id=conversation_id)
    if row is None:
        raise ConversationNotFoundError
    return row[0], row[1]


def _said(connection: Connection, conversation_id: str, *, after: int, limit: int, max_chars: int) -> list[Said]:
    rows = _SAID.rows(connection, conversation_id=conversation_id, after=after, limit=limit, max_chars=max_chars)
    return [Said._make(row) for row in rows]
