"""Conversations that are not kept: no list shows them, nothing brings them back, and after a day they are erased."""

from __future__ import annotations

from sqlalchemy import Connection

from .clock import iso_in
from .connection import open_store
from .conversation_rows import ConversationRow
from .conversations import insert_conversation, new_conversation_id, read_live

_HOURS = 24


def create_temporary_conversation(*, users_dir: str, user_email: str, domain: str) -> ConversationRow:
    """A new, empty conversation that ends when it is deleted, or else in 24 hours."""
    conversation_id = new_conversation_id(user_email)
    values = {
        "conversation_id": conversation_id,
        "user_email": user_email,
        "domain": domain,
        "expires_at": iso_in(hours=_HOURS),
    }

    def job(connection: Connection) -> ConversationRow:
        insert_conversation(connection, values, workspace_id=None)
        return read_live(connection, user_email=user_email, conversation_id=conversation_id)

    return open_store(users_dir).write(job)
