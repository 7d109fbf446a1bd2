"""The first schema: accounts, conversations, workspaces, activities, messages, references, streams, full text."""

from __future__ import annotations

from sqlalchemy import Connection

from database.search import index as fulltext_index

from .. import schema


def upgrade(connection: Connection) -> None:
    """Create every table as it is today; what a store made earlier lacks, the later migrations add."""
    schema.metadata.create_all(connection, checkfirst=True)
    fulltext_index.create_index(connection)
