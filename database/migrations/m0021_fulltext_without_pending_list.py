"""PostgreSQL's full-text index of messages without a list of pending entries, which every search read through.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Turn `fastupdate` off and move what the list holds into the index; SQLite's index has no such list."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER INDEX idx_messages_fts_words SET (fastupdate = off)")
        connection.exec_driver_sql("SELECT gin_clean_pending_list('idx_messages_fts_words')")
