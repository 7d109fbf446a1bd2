"""The ids that clients give to what they send, so that sending again after a lost response doubles nothing.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_TABLES = ("messages", "message_variants")
_INDEX = """
    CREATE UNIQUE INDEX IF NOT EXISTS idx_messages_client ON messages (user_email, client_message_id)
    WHERE client_message_id IS NOT NULL
"""


def upgrade(connection: Connection) -> None:
    """Add the columns and the index; a new store has them already."""
    for table in _TABLES:
        columns = {row[1] for row in connection.exec_driver_sql(f"PRAGMA table_info({table})")}
        if "client_message_id" not in columns:
            connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN client_message_id TEXT")
    connection.exec_driver_sql(_INDEX)
