"""The changes of people's things, which `GET /events` streams.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Create the table; a new store has it already."""
    connection.exec_driver_sql(
        "CREATE TABLE IF NOT EXISTS changes ("
        "user_email TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, change TEXT NOT NULL, id TEXT NOT NULL, "
        "conversation_id TEXT, fields JSON NOT NULL, at TEXT NOT NULL, PRIMARY KEY (user_email, seq))"
        + (" WITHOUT ROWID" if connection.dialect.name == "sqlite" else "")
    )
