"""The words of the full-text index as a list, and an index of temporary conversations."""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Add both. Nothing is indexed again: the list reads the index itself."""
    connection.exec_driver_sql("CREATE VIRTUAL TABLE messages_words USING fts5vocab('messages_fts', 'instance')")
    connection.exec_driver_sql(
        'CREATE INDEX "idx_UserToConversationId_temporary" ON "UserToConversationId" (user_email) '
        "WHERE expires_at IS NOT NULL"
    )
