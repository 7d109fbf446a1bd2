"""The table by which purging the bin sees that the clock was set.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Add the table; a new store has it already."""
    connection.exec_driver_sql(
        "CREATE TABLE IF NOT EXISTS purge_clock ("
        "id INTEGER NOT NULL, last_run_at TEXT NOT NULL, trusted_from TEXT NOT NULL, PRIMARY KEY (id))"
    )
