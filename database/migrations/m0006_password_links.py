"""One-time links that set a new password.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    """
    CREATE TABLE IF NOT EXISTS password_links (
        user_email TEXT NOT NULL PRIMARY KEY REFERENCES users (user_email) ON DELETE CASCADE,
        token_hash TEXT NOT NULL UNIQUE,
        created_at TEXT NOT NULL,
        expires_at TEXT NOT NULL
    )
    """,
)


def upgrade(connection: Connection) -> None:
    """Create the table; a new store has it already."""
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement)
