"""Imports, what became of the things of their sources, and old names of conversations.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = """
    CREATE TABLE IF NOT EXISTS imports (
        import_id {text} NOT NULL PRIMARY KEY,
        user_email {text} NOT NULL,
        source {text} NOT NULL,
        file_name {text} NOT NULL,
        file_size {integer} NOT NULL,
        path {text} NOT NULL,
        state {text} NOT NULL,
        counted {integer} NOT NULL DEFAULT 0,
        conversations {integer} NOT NULL DEFAULT 0,
        messages {integer} NOT NULL DEFAULT 0,
        titles JSON NOT NULL,
        choice JSON NOT NULL,
        position {integer} NOT NULL DEFAULT 0,
        done {integer} NOT NULL DEFAULT 0,
        imported {integer} NOT NULL DEFAULT 0,
        updated {integer} NOT NULL DEFAULT 0,
        skipped {integer} NOT NULL DEFAULT 0,
        failed {integer} NOT NULL DEFAULT 0,
        failures JSON NOT NULL,
        kept JSON NOT NULL,
        error {text} NOT NULL DEFAULT '',
        worked_ms {integer} NOT NULL DEFAULT 0,
        owner {text},
        lease_until {text},
        created_at {text} NOT NULL,
        updated_at {text} NOT NULL
    );
    CREATE INDEX IF NOT EXISTS idx_imports_user ON imports (user_email, created_at);
    CREATE TABLE IF NOT EXISTS imported_conversations (
        user_email {text} NOT NULL,
        source {text} NOT NULL,
        source_id {text} NOT NULL,
        conversation_id {text} NOT NULL UNIQUE
            REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE,
        import_id {text} NOT NULL,
        title {text} NOT NULL,
        digest {text} NOT NULL,
        PRIMARY KEY (user_email, source, source_id)
    ){without_rowid};
    CREATE INDEX IF NOT EXISTS idx_imported_conversations_import ON imported_conversations (import_id);
    CREATE TABLE IF NOT EXISTS imported_messages (
        conversation_id {text} NOT NULL REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE,
        source_id {text} NOT NULL,
        message_id {text} NOT NULL REFERENCES messages (message_id) ON DELETE CASCADE,
        number {integer} NOT NULL,
        digest {text} NOT NULL,
        import_id {text} NOT NULL,
        PRIMARY KEY (conversation_id, source_id)
    ){without_rowid};
    CREATE INDEX IF NOT EXISTS idx_imported_messages_message ON imported_messages (message_id);
    CREATE INDEX IF NOT EXISTS idx_imported_messages_import ON imported_messages (import_id);
    CREATE TABLE IF NOT EXISTS conversation_aliases (
        user_email {text} NOT NULL,
        alias {text} NOT NULL,
        conversation_id {text} NOT NULL REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE,
        PRIMARY KEY (user_email, alias)
    ){without_rowid};
    CREATE INDEX IF NOT EXISTS idx_conversation_aliases_conversation ON conversation_aliases (conversation_id)
"""
_TYPES = {
    "sqlite": {"text": "TEXT", "integer": "INTEGER", "without_rowid": " WITHOUT ROWID"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "integer": "BIGINT", "without_rowid": ""},
}


def upgrade(connection: Connection) -> None:
    """Create the tables; a new store has them already."""
    for statement in _STATEMENTS.format(**_TYPES[connection.dialect.name]).split(";"):
        connection.exec_driver_sql(statement)
