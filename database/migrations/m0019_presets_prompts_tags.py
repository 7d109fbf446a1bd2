"""A person's library of presets and prompts, and the tags of conversations.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = """
    CREATE TABLE IF NOT EXISTS library (
        item_id {text} NOT NULL PRIMARY KEY,
        user_email {text} NOT NULL,
        kind {text} NOT NULL,
        name {text} NOT NULL,
        content JSON NOT NULL,
        created_at {text} NOT NULL,
        updated_at {text} NOT NULL
    );
    CREATE UNIQUE INDEX IF NOT EXISTS idx_library_name ON library (user_email, kind, name);
    CREATE TABLE IF NOT EXISTS conversation_tags (
        conversation_id {text} NOT NULL REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE,
        tag {text} NOT NULL,
        user_email {text} NOT NULL,
        PRIMARY KEY (conversation_id, tag)
    ){without_rowid};
    CREATE INDEX IF NOT EXISTS idx_conversation_tags_tag ON conversation_tags (user_email, tag, conversation_id)
"""
_TYPES = {
    "sqlite": {"text": "TEXT", "without_rowid": " WITHOUT ROWID"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "without_rowid": ""},
}


def upgrade(connection: Connection) -> None:
    """Create the tables; a new store has them already."""
    for statement in _STATEMENTS.format(**_TYPES[connection.dialect.name]).split(";"):
        connection.exec_driver_sql(statement)
