"""The mark of accounts that are being erased.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Add the column; a new store has it already."""
    if "erasing_since" not in {row[1] for row in connection.exec_driver_sql("PRAGMA table_info(users)")}:
        connection.exec_driver_sql("ALTER TABLE users ADD COLUMN erasing_since TEXT")
