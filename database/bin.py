"""The bin: what was deleted lies here until it is brought back, thrown away by hand, or 30 days are over."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TypedDict

from sqlalchemy import ColumnElement, Connection, and_, select

from .clock import now
from .connection import open_store
from .erasure import BIN_DAYS, condemn, erase
from .errors import ConversationNotFoundError, TurnInProgressError
from .schema import conversations

_c = conversations.c
_SECONDS_A_DAY = 86_400


class BinnedConversation(TypedDict):
    """A conversation in the bin. `days_left`: how many days it can still be brought back, begun ones counted whole."""

    conversation_id: str
    title: str
    flag: str
    message_count: int
    deleted_at: str
    days_left: int


def list_bin(*, users_dir: str, user_email: str, domain: str) -> list[BinnedConversation]:
    """The user's deleted conversations of `domain`, the newest deletion first. One query."""
    query = (
        select(_c.conversation_id, _c.title, _c.flag, _c.message_count, _c.deleted_at)
        .where(_in_bin(user_email), _c.domain == domain)
        .order_by(_c.deleted_at.desc(), _c.conversation_id)
    )
    with open_store(users_dir).reading() as connection:
        found = connection.execute(query).all()
    return [
        BinnedConversation(
            conversation_id=row.conversation_id,
            title=row.title,
            flag=row.flag,
            message_count=row.message_count,
            deleted_at=row.deleted_at,
            days_left=_days_left(row.deleted_at),
        )
        for row in found
    ]


def erase_binned(*, users_dir: str, user_email: str, conversation_id: str) -> None:
    """Erase one conversation that is in the bin, for good.

    Raises:
        ConversationNotFoundError: missing, somebody else's, or not in the bin.
        TurnInProgressError: its last answer has not yet come to its end.
    """
    which = and_(_in_bin(user_email), _c.conversation_id == conversation_id)

    def job(connection: Connection) -> None:
        row = connection.execute(select(_c.running_message_id).where(which)).first()
        if row is None:
            raise ConversationNotFoundError
        if row.running_message_id is not None:
            raise TurnInProgressError
        condemn(connection, which)

    store = open_store(users_dir)
    store.write(job)
    erase(store, [conversation_id])


def empty_bin(*, users_dir: str, user_email: str, domain: str) -> int:
    """Erase what is in the bin of `domain`, for good; how many conversations. What is still being answered stays."""
    which = and_(_in_bin(user_email), _c.domain == domain, _c.running_message_id.is_(None))
    store = open_store(users_dir)
    condemned = store.write(lambda connection: condemn(connection, which))
    erase(store, condemned)
    return len(condemned)


def _in_bin(user_email: str) -> ColumnElement[bool]:
    return and_(
        _c.user_email == user_email,
        _c.deleted_at.is_not(None),
        _c.incomplete_since.is_(None),
        _c.expires_at.is_(None),
    )


def _days_left(deleted_at: str) -> int:
    age = now() - datetime.fromisoformat(deleted_at)
    return max(0, math.ceil(BIN_DAYS - age.total_seconds() / _SECONDS_A_DAY))
