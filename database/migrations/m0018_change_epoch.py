"""The epoch of the changes: which history their numbers belong to.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

import secrets

from sqlalchemy import Connection, text


def upgrade(connection: Connection) -> None:
    """Create the table with its one row."""
    is_postgresql = connection.dialect.name == "postgresql"
    number, words = ("BIGINT", 'TEXT COLLATE "C"') if is_postgresql else ("INTEGER", "TEXT")
    connection.exec_driver_sql(
        f"CREATE TABLE IF NOT EXISTS change_epoch (id {number} NOT NULL PRIMARY KEY, epoch {words} NOT NULL)"
    )
    epoch = {"epoch": secrets.token_hex(8)}
    connection.execute(text("INSERT INTO change_epoch (id, epoch) VALUES (1, :epoch) ON CONFLICT DO NOTHING"), epoch)
