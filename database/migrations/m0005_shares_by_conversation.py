"""An index of shares by their conversation alone."""

from __future__ import annotations

from sqlalchemy import Connection, inspect


def upgrade(connection: Connection) -> None:
    """Add the index: erasing a conversation scanned all shares. A new store has today's table, which needs none."""
    if "snapshot" in {column["name"] for column in inspect(connection).get_columns("shares")}:
        connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS idx_shares_cascade ON shares (conversation_id)")
