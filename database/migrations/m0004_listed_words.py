"""The words of the full-text index as a list, and an index of temporary conversations."""

from __future__ import annotations

from sqlalchemy import Connection

from database.search import index as fulltext_index

from .. import schema


def upgrade(connection: Connection) -> None:
    """Add both, where a store was not made with them. Nothing is indexed again: the list reads the index itself."""
    fulltext_index.create_word_list(connection)
    index = next(index for index in schema.conversations.indexes if index.name == "idx_UserToConversationId_temporary")
    index.create(connection, checkfirst=True)
