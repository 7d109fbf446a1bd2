"""Branches of conversations: questions that were asked again, and which messages are on the active path.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect

_COLUMNS = {
    "messages": ("branch_id TEXT", "branch_of TEXT", "chosen_branch INTEGER", "other_branch INTEGER"),
    '"UserToConversationId"': ("branch_id TEXT",),
}
_LIVE = """
    CREATE INDEX idx_messages_live ON messages (conversation_id, ordinal)
    WHERE deleted_at IS NULL AND other_branch IS NULL
"""
_BRANCH_OF = """
    CREATE INDEX IF NOT EXISTS idx_messages_branch_of ON messages (conversation_id, branch_of)
    WHERE branch_of IS NOT NULL
"""


def upgrade(connection: Connection) -> None:
    """Add the columns and indexes; a new store has them already."""
    for table, columns in _COLUMNS.items():
        known = {column["name"] for column in inspect(connection).get_columns(table.strip('"'))}
        for column in columns:
            if column.split()[0] not in known:
                declared = column
                if connection.dialect.name == "postgresql":
                    declared = column.replace("TEXT", 'TEXT COLLATE "C"').replace("INTEGER", "BIGINT")
                connection.exec_driver_sql(f"ALTER TABLE {table} ADD COLUMN {declared}")
    for statement in ("DROP INDEX IF EXISTS idx_messages_live", _LIVE, _BRANCH_OF):
        connection.exec_driver_sql(statement)
