"""Which process writes an answer, and until when that process is taken to be alive.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect


def upgrade(connection: Connection) -> None:
    """Add the columns; a new store has them already."""
    columns = {column["name"] for column in inspect(connection).get_columns("messages")}
    for name in ("owner", "lease_until"):
        if name not in columns:
            connection.exec_driver_sql(f"ALTER TABLE messages ADD COLUMN {name} TEXT")
