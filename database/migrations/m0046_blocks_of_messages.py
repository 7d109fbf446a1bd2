"""PostgreSQL's full-text index of messages names the block of each message, so that the newest can be asked alone.

It is filled behind. The table has a new name, as those of documents and passages have: servers of an earlier version,
which go on for minutes while several processes are replaced one after the other, fail there instead of writing messages
without their blocks.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    "TRUNCATE messages_fts",
    "ALTER TABLE messages_fts RENAME TO message_terms",
    "ALTER INDEX messages_fts_pkey RENAME TO message_terms_pkey",
    "ALTER INDEX idx_messages_fts_words RENAME TO idx_message_terms_words",
    "UPDATE search_state SET indexed_seq = 0 WHERE name = 'message_terms'",
)


def upgrade(connection: Connection) -> None:
    """Empty PostgreSQL's index under its new name; SQLite's walks from the newest message on as it is."""
    if connection.dialect.name == "postgresql":
        for statement in _STATEMENTS:
            connection.exec_driver_sql(statement)
