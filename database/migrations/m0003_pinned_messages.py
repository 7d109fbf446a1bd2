"""An index of pinned messages."""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Add the index."""
    connection.exec_driver_sql(
        "CREATE INDEX idx_messages_pinned ON messages (conversation_id) WHERE pinned_at IS NOT NULL"
    )
