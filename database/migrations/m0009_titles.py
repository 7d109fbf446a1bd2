"""An index of the titles of conversations, by which they are searched.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Add the index; a new store has it already."""
    connection.exec_driver_sql(
        'CREATE INDEX IF NOT EXISTS "idx_UserToConversationId_title" '
        'ON "UserToConversationId" (user_email, title) WHERE deleted_at IS NULL'
    )
