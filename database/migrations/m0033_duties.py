"""What one of several processes does for all, and running turns that another process was asked to stop.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = """
    CREATE TABLE IF NOT EXISTS duties (
        name {text} NOT NULL PRIMARY KEY,
        owner {text} NOT NULL,
        lease_until {text} NOT NULL
    );
    CREATE TABLE IF NOT EXISTS stop_requests (
        message_id {text} NOT NULL PRIMARY KEY,
        owner {text} NOT NULL,
        FOREIGN KEY(message_id) REFERENCES messages (message_id) ON DELETE CASCADE
    )
"""
_TYPES = {"sqlite": {"text": "TEXT"}, "postgresql": {"text": 'TEXT COLLATE "C"'}}


def upgrade(connection: Connection) -> None:
    """Create the tables; a new store has them already."""
    for statement in _STATEMENTS.format(**_TYPES[connection.dialect.name]).split(";"):
        connection.exec_driver_sql(statement)
