"""Memories pinned to a conversation: they lie with it, and go where it goes."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import Connection, update

from .connection import open_store
from .conversations import read_live
from .schema import conversations

FIELD = "pinned_claim_ids"


def pin_claim(*, users_dir: str, user_email: str, conversation_id: str, claim_id: str) -> list[str]:
    """Pin a claim to a conversation; returns all pinned ids, the newest last. Raises ConversationNotFoundError."""
    return _changed(users_dir, user_email, conversation_id, lambda ids: [*(i for i in ids if i != claim_id), claim_id])


def unpin_claim(*, users_dir: str, user_email: str, conversation_id: str, claim_id: str) -> list[str]:
    """Take a pinned claim off a conversation; returns those that stay. Raises ConversationNotFoundError."""
    return _changed(users_dir, user_email, conversation_id, lambda ids: [i for i in ids if i != claim_id])


def _changed(
    users_dir: str, user_email: str, conversation_id: str, change: Callable[[list[str]], list[str]]
) -> list[str]:
    def job(connection: Connection) -> list[str]:
        row = read_live(connection, user_email=user_email, conversation_id=conversation_id)
        ids = change(list(row.memory.get(FIELD, [])))
        changed = {"memory": {**row.memory, FIELD: ids}, "version": conversations.c.version + 1}
        own = conversations.c.conversation_id == conversation_id
        connection.execute(update(conversations).where(own).values(changed))
        return ids

    return open_store(users_dir).write(job)
