"""A table for the lengths of indexed messages, packed in blocks; only SQLite's full-text index needs it.

The statements are literal: a migration describes the schema of its own time, never that of today. The table is filled
behind, slice by slice, as the index itself is.
"""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Create the empty table."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(
            "CREATE TABLE messages_fts_lengths (block INTEGER NOT NULL PRIMARY KEY, lengths BLOB NOT NULL)"
        )
