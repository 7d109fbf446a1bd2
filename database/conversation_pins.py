"""Memories pinned to a conversation: they lie with it, and go where it goes."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, update

from .connection import open_store
from .conversations import read_live
from .errors import InvalidChangeError
from .schema import conversations

FIELD = "pinned_claim_ids"
MOST_PINNED = 200


def pin_claim(*, users_dir: str, user_email: str, conversation_id: str, claim_id: str) -> list[str]:
    """Pin a claim to a conversation; returns all pinned ids, the newest last.

    Raises ConversationNotFoundError, and InvalidChangeError for more than 200.
    """

    def pinned(ids: list[str]) -> list[str]:
        others = [other for other in ids if other != claim_id]
        if len(others) >= MOST_PINNED:
            raise InvalidChangeError(f"At most {MOST_PINNED} memories can be pinned to one conversation.")
        return [*others, claim_id]

    return _changed(users_dir, user_email, conversation_id, pinned)


def unpin_claim(*, users_dir: str, user_email: str, conversation_id: str, claim_id: str) -> list[str]:
    """Take a pinned claim off a conversation; returns those that stay. Raises ConversationNotFoundError."""
    return _changed(users_dir, user_email, conversation_id, lambda ids: [other for other in ids if other != claim_id])


def _changed(
    users_dir: str, user_email: str, conversation_id: str, change: Callable[[list[str]], list[str]]
) -> list[str]:
    def job(connection: Connection) -> list[str]:
        row = read_live(connection, user_email=user_email, conversation_id=conversation_id)
        before = row.memory.get(FIELD, [])
        ids = change(before)
        if ids == before:
            return ids
        changed = {"memory": {**row.memory, FIELD: ids}, "version": conversations.c.version + 1}
        own = conversations.c.conversation_id == conversation_id
        connection.execute(update(conversations).where(own).values(changed))
        return ids

    return open_store(users_dir).write(job)
