"""Full text over messages: SQLite's FTS5, kept behind the answer, joined to messages by `seq`.

Each indexed row carries two private tokens, one for its owner and one for its conversation, so that a search touches only the caller's
rows however many others there are.
"""

from __future__ import annotations

from sqlalchemy import Connection


def create_index(connection: Connection) -> None:
    """Create the full-text table."""
    connection.exec_driver_sql(
        "CREATE VIRTUAL TABLE IF NOT EXISTS messages_fts USING fts5("
        "owner, conversation, body, content='', tokenize=\"unicode61 remove_diacritics 2\", prefix='2 3')"
    )
