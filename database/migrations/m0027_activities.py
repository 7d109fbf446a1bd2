"""Activities of every kind: found by their short ids, by threads and by sessions; calls and documents by their recipes.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_STATEMENTS = (
    (
        "CREATE UNIQUE INDEX IF NOT EXISTS idx_threads_session ON threads (user_email, session_key) "
        "WHERE session_key IS NOT NULL"
    ),
    "CREATE INDEX IF NOT EXISTS idx_activities_short_id ON activities (user_email, short_id)",
    (
        "CREATE INDEX IF NOT EXISTS idx_activities_in_threads ON activities (conversation_id, thread_id) "
        "WHERE thread_id IS NOT NULL"
    ),
    (
        "CREATE INDEX IF NOT EXISTS idx_activities_no_messages ON activities (conversation_id, seq) "
        "WHERE type <> 'chat_message' OR recipe <> 'general-discussion'"
    ),
    "UPDATE activities SET recipe = 'tools' WHERE recipe = 'general-discussion' AND type = 'tool_invocation'",
    "UPDATE activities SET recipe = 'vault' WHERE recipe = 'documents'",
)


def upgrade(connection: Connection) -> None:
    """Create the indexes; a new store has them already."""
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement)
