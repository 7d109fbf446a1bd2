"""The index of running answers holds whose they are: counting one person's reads nobody else's.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Make the index anew; it has a row for each answer that is being written."""
    connection.exec_driver_sql("DROP INDEX idx_messages_streaming")
    connection.exec_driver_sql(
        "CREATE INDEX idx_messages_streaming ON messages (status, user_email) WHERE status = 'streaming'"
    )
