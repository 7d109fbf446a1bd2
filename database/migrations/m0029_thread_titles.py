"""Titles of threads that the cheap model made. Threads of before stay called by the first words of their roots.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect

_INDEX = (
    "CREATE INDEX IF NOT EXISTS idx_threads_untitled ON threads (created_at) WHERE made_title IS NULL AND title = ''"
)


def upgrade(connection: Connection) -> None:
    """Add the column; a new store has it already."""
    if "made_title" not in {column["name"] for column in inspect(connection).get_columns("threads")}:
        declared = 'TEXT COLLATE "C"' if connection.dialect.name == "postgresql" else "TEXT"
        connection.exec_driver_sql(f"ALTER TABLE threads ADD COLUMN made_title {declared}")
        connection.exec_driver_sql("UPDATE threads SET made_title = ''")
    connection.exec_driver_sql(_INDEX)
