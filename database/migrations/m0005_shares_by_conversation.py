"""An index of shares by their conversation alone."""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Add the index: erasing a conversation scanned all shares."""
    connection.exec_driver_sql("CREATE INDEX idx_shares_cascade ON shares (conversation_id)")
