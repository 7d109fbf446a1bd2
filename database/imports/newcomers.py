"""People who never had a conversation, and the first one that is stored for them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sqlalchemy import Connection, select

from database.engine.database import Database
from database.schema import conversations, workspaces

from .importing import import_conversation

StoreConversation = Callable[..., list[dict[str, Any]]]
"""`import_conversation` within a transaction, for one user and one domain."""


def import_for_newcomer(
    *,
    database: Database,
    user_email: str,
    domain: str,
    conversation_id: str,
    write: Callable[[StoreConversation], object],
) -> str | None:
    """Let `write` store `conversation_id` for a user who never had a conversation; the id, also where it exists.

    None where the user has had other conversations, or has deleted this one. Concurrent callers get the same answer,
    and only one of them writes.
    """
    query = select(conversations.c.deleted_at).where(
        conversations.c.user_email == user_email, conversations.c.conversation_id == conversation_id
    )

    def job(connection: Connection) -> str | None:
        found = connection.execute(query).first()
        if found is not None:
            return conversation_id if found.deleted_at is None else None
        if _had_conversations(connection, user_email):
            return None
        write(partial(import_conversation, connection, user_email=user_email, domain=domain))
        return conversation_id

    return database.write(job)


def had_conversations(*, database: Database, user_email: str) -> bool:
    """Whether the user has, or ever had, a conversation."""
    with database.reading() as connection:
        return _had_conversations(connection, user_email)


def _had_conversations(connection: Connection, user_email: str) -> bool:
    # The first conversation creates its workspace, which stays when the conversation is erased.
    return any(
        connection.execute(select(table.c.user_email).where(table.c.user_email == user_email).limit(1)).first()
        for table in (conversations, workspaces)
    )
