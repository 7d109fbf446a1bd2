"""Pins of conversations and messages, variants of answers, shares.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    'ALTER TABLE "UserToConversationId" ADD COLUMN pinned_at TEXT',
    "ALTER TABLE messages ADD COLUMN chosen_variant INTEGER",
    "ALTER TABLE messages ADD COLUMN pinned_at TEXT",
    """
    CREATE TABLE message_variants (
        message_id TEXT NOT NULL REFERENCES messages (message_id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        text TEXT NOT NULL,
        status TEXT NOT NULL,
        config JSON NOT NULL,
        created_at TEXT NOT NULL,
        PRIMARY KEY (message_id, number)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE shares (
        token_hash TEXT NOT NULL PRIMARY KEY,
        user_email TEXT NOT NULL,
        conversation_id TEXT NOT NULL REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE,
        title TEXT NOT NULL,
        snapshot JSON NOT NULL,
        created_at TEXT NOT NULL
    )
    """,
    "CREATE INDEX idx_shares_conversation ON shares (user_email, conversation_id)",
)


def upgrade(connection: Connection) -> None:
    """Add the columns and tables."""
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement)
