"""An index of the activities of a recipe, beside the messages of conversations.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection


def upgrade(connection: Connection) -> None:
    """Create the index; a new store has it already."""
    connection.exec_driver_sql(
        "CREATE INDEX IF NOT EXISTS idx_activities_recipe ON activities (user_email, recipe, seq) "
        "WHERE type <> 'chat_message' OR recipe <> 'general-discussion'"
    )
