"""An index of pinned messages."""

from __future__ import annotations

from sqlalchemy import Connection

from .. import schema


def upgrade(connection: Connection) -> None:
    """Add the index, where a store was not made with it."""
    index = next(index for index in schema.messages.indexes if index.name == "idx_messages_pinned")
    index.create(connection, checkfirst=True)
