"""What messages said before they were edited."""

from __future__ import annotations

from sqlalchemy import Connection, insert, select

from .connection import open_store
from .message_access import access_message
from .schema import message_edits


def keep_text(connection: Connection, *, message_id: str, text: str, replaced_at: str) -> None:
    """Keep what a message says until now."""
    connection.execute(insert(message_edits).values(message_id=message_id, text=text, replaced_at=replaced_at))


def edits_of(*, users_dir: str, user_email: str, message_id: str) -> list[dict[str, str]]:
    """The earlier texts of a live message, oldest first: `{text, replaced_at}` each. Raises MessageNotFoundError."""
    query = (
        select(message_edits.c.text, message_edits.c.replaced_at)
        .where(message_edits.c.message_id == message_id)
        .order_by(message_edits.c.edit_id)
    )
    with open_store(users_dir).reading() as connection:
        access_message(connection, user_email=user_email, message_id=message_id)
        return [{"text": text, "replaced_at": replaced_at} for text, replaced_at in connection.execute(query)]
