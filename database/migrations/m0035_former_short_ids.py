"""The short ids that moved activities had in the conversations that they left.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_TABLE = """
    CREATE TABLE IF NOT EXISTS former_short_ids (
        conversation_id {text} NOT NULL,
        short_id {text} NOT NULL,
        activity_id {text} NOT NULL,
        user_email {text} NOT NULL,
        PRIMARY KEY (conversation_id, short_id)
    ){without_rowid};
    CREATE INDEX IF NOT EXISTS idx_former_short_ids_activity ON former_short_ids (activity_id);
    CREATE INDEX IF NOT EXISTS idx_former_short_ids_owner ON former_short_ids (user_email, short_id)
"""
_DIALECTS = {
    "sqlite": {"text": "TEXT", "without_rowid": " WITHOUT ROWID"},
    "postgresql": {"text": 'TEXT COLLATE "C"', "without_rowid": ""},
}


def upgrade(connection: Connection) -> None:
    """Create the table and its indexes; a new store has them already."""
    for statement in _TABLE.format(**_DIALECTS[connection.dialect.name]).split(";"):
        connection.exec_driver_sql(statement)
