"""An index of shares by their conversation alone."""

from __future__ import annotations

from sqlalchemy import Connection

from .. import schema


def upgrade(connection: Connection) -> None:
    """Add the index, where a store was not made with it: erasing a conversation looked through all shares."""
    index = next(index for index in schema.shares.indexes if index.name == "idx_shares_cascade")
    index.create(connection, checkfirst=True)
