"""Files that are attached to messages, and an index of the message parts that use them.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = """
    CREATE TABLE IF NOT EXISTS attachments (
        attachment_id {text} NOT NULL PRIMARY KEY,
        user_email {text} NOT NULL,
        sha256 {text} NOT NULL,
        name {text} NOT NULL,
        media_type {text} NOT NULL,
        kind {text} NOT NULL,
        size BIGINT NOT NULL,
        pages {integer},
        characters {integer},
        lines {integer},
        width {integer},
        height {integer},
        problem {text} NOT NULL DEFAULT '',
        created_at {text} NOT NULL,
        CONSTRAINT uq_attachments_content UNIQUE (user_email, sha256, name)
    );
    CREATE INDEX IF NOT EXISTS idx_attachments_created_at ON attachments (created_at);
    CREATE INDEX IF NOT EXISTS idx_message_parts_files ON message_parts (message_id) WHERE kind IN ('file', 'image')
"""
_TYPES = {
    "sqlite": {"text": "TEXT", "integer": "INTEGER"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "integer": "BIGINT"},
}


def upgrade(connection: Connection) -> None:
    """Create the table and the index; a new store has them already."""
    for statement in _STATEMENTS.format(**_TYPES[connection.dialect.name]).split(";"):
        connection.exec_driver_sql(statement)
