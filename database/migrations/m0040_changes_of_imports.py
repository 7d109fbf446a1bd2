"""What imports changed beside the conversations that they brought, so that each can be taken back as a whole.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect

_STATEMENTS = """
    ALTER TABLE imports ADD COLUMN noted {integer} NOT NULL DEFAULT 0;
    CREATE TABLE imported_changes (
        import_id {text} NOT NULL,
        kind {text} NOT NULL,
        thing_id {text} NOT NULL,
        user_email {text} NOT NULL,
        conversation_id {text} REFERENCES "UserToConversationId" (conversation_id) ON DELETE CASCADE,
        former JSON NOT NULL,
        became JSON NOT NULL,
        PRIMARY KEY (import_id, kind, thing_id)
    ){without_rowid};
    CREATE INDEX idx_imported_changes_conversation ON imported_changes (conversation_id);
    CREATE INDEX idx_imported_changes_owner ON imported_changes (user_email)
"""
_TYPES = {
    "sqlite": {"text": "TEXT", "integer": "INTEGER", "without_rowid": " WITHOUT ROWID"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "integer": "BIGINT", "without_rowid": ""},
}


def upgrade(connection: Connection) -> None:
    """Add the column and the table; a new store has them already."""
    if inspect(connection).has_table("imported_changes"):
        return
    for statement in _STATEMENTS.format(**_TYPES[connection.dialect.name]).split(";"):
        connection.exec_driver_sql(statement)
