"""What messages mean: their vectors, and the queue of messages whose vectors are to be made.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = """
    CREATE TABLE IF NOT EXISTS message_vectors (
        vector_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
        seq BIGINT NOT NULL REFERENCES messages (seq) ON DELETE CASCADE,
        user_email TEXT NOT NULL,
        codes BLOB NOT NULL
    );
    CREATE INDEX IF NOT EXISTS idx_message_vectors_message ON message_vectors (seq);
    CREATE INDEX IF NOT EXISTS idx_message_vectors_user_email ON message_vectors (user_email);
    CREATE TABLE IF NOT EXISTS unembedded_messages (
        seq INTEGER NOT NULL PRIMARY KEY REFERENCES messages (seq) ON DELETE CASCADE
    );
    INSERT OR IGNORE INTO unembedded_messages
        SELECT seq FROM messages
        WHERE deleted_at IS NULL AND seq <= (SELECT indexed_seq FROM search_state WHERE name = 'messages')
"""


def upgrade(connection: Connection) -> None:
    """Add both tables where the store is older, and queue every message that the full-text index knows."""
    for statement in _STATEMENTS.split(";"):
        connection.exec_driver_sql(statement)
