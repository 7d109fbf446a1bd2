"""The servers that share a store, and for which closed accounts they have no request under way.

The statement is literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENT = """
    CREATE TABLE IF NOT EXISTS server_processes (
        owner {text} NOT NULL PRIMARY KEY,
        lease_until {text} NOT NULL,
        clear_of JSON NOT NULL
    )
"""
_TYPES = {"sqlite": {"text": "TEXT"}, "postgresql": {"text": 'TEXT COLLATE "C"'}}


def upgrade(connection: Connection) -> None:
    """Create the table; a new store has it already."""
    connection.exec_driver_sql(_STATEMENT.format(**_TYPES[connection.dialect.name]))
