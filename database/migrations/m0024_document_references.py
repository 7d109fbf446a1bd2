"""References of messages to documents of the owner's vault.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect

_STATEMENTS = """
    CREATE TABLE IF NOT EXISTS document_references (
        message_id {text} NOT NULL REFERENCES messages (message_id) ON DELETE CASCADE,
        version {integer} NOT NULL,
        position {integer} NOT NULL,
        user_email {text} NOT NULL,
        wikilink {text} NOT NULL,
        relative_path {text},
        reference_type {text} NOT NULL,
        summary {text},
        context_snippet {text},
        anchor {text},
        via_tool {text},
        ambiguous {integer} NOT NULL DEFAULT 0,
        used {integer} NOT NULL DEFAULT 1,
        PRIMARY KEY (message_id, version, position)
    ){without_rowid};
    CREATE INDEX IF NOT EXISTS idx_document_references_path ON document_references (user_email, relative_path)
"""
_TYPES = {
    "sqlite": {"text": "TEXT", "integer": "INTEGER", "without_rowid": " WITHOUT ROWID"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "integer": "BIGINT", "without_rowid": ""},
}


def upgrade(connection: Connection) -> None:
    """Create the table and the columns that say which messages have rows in it; a new store has them already."""
    types = _TYPES[connection.dialect.name]
    for statement in _STATEMENTS.format(**types).split(";"):
        connection.exec_driver_sql(statement)
    for table in ("messages", "UserToConversationId"):
        if "has_documents" not in {column["name"] for column in inspect(connection).get_columns(table)}:
            column = f"has_documents {types['integer']} NOT NULL DEFAULT 0"
            connection.exec_driver_sql(f'ALTER TABLE "{table}" ADD COLUMN {column}')
