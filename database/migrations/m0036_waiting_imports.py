"""When an import is tried again that could not be stored, and which conversations imports are filling.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect

_STATEMENTS = """
    ALTER TABLE imports ADD COLUMN tries {integer} NOT NULL DEFAULT 0;
    ALTER TABLE imports ADD COLUMN next_try_at {text};
    CREATE TABLE filled_conversations (
        conversation_id {text} NOT NULL PRIMARY KEY
            REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE,
        import_id {text} NOT NULL
    );
    CREATE INDEX idx_filled_conversations_import ON filled_conversations (import_id)
"""
_TYPES = {
    "sqlite": {"text": "TEXT", "integer": "INTEGER"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "integer": "BIGINT"},
}


def upgrade(connection: Connection) -> None:
    """Add the columns and the table; a new store has them already."""
    if inspect(connection).has_table("filled_conversations"):
        return
    for statement in _STATEMENTS.format(**_TYPES[connection.dialect.name]).split(";"):
        connection.exec_driver_sql(statement)
