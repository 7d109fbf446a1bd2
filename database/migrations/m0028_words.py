"""The list of the words of indexed messages, filled from the full-text index that there is.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

from sqlalchemy import Connection

_TABLE = """
    CREATE TABLE IF NOT EXISTS message_words (
        word {text} NOT NULL PRIMARY KEY,
        doubted {integer} DEFAULT 0 NOT NULL
    ) {without_rowid}
"""
_INDEX = "CREATE INDEX IF NOT EXISTS idx_message_words_doubted ON message_words (doubted) WHERE doubted = 1"
# From one word to the next, past everything that says it. A private token is said in another column than a word.
_FILL_SQLITE = """
    WITH RECURSIVE known(word) AS (
        SELECT (SELECT term FROM messages_words WHERE term >= ' ' LIMIT 1)
        UNION ALL
        SELECT (SELECT term FROM messages_words WHERE term >= known.word || char(1) LIMIT 1)
        FROM known WHERE known.word IS NOT NULL
    )
    INSERT INTO message_words (word)
    SELECT DISTINCT substr(word, 1, 500) FROM known WHERE word IS NOT NULL AND (
        length(word) <> 21 OR EXISTS (SELECT 1 FROM messages_words WHERE term = word AND col = 'body')
    )
"""
_FILL_POSTGRESQL = """
    INSERT INTO message_words (word)
    SELECT DISTINCT said.lexeme FROM messages_fts, unnest(words) AS said WHERE said.lexeme NOT LIKE ':%%'
"""


def upgrade(connection: Connection) -> None:
    """Create and fill the list; a new store has an empty one already."""
    is_sqlite = connection.dialect.name == "sqlite"
    types = {"text": "TEXT", "integer": "INTEGER"} if is_sqlite else {"text": 'TEXT COLLATE "C"', "integer": "BIGINT"}
    connection.exec_driver_sql(_TABLE.format(**types, without_rowid="WITHOUT ROWID" if is_sqlite else ""))
    connection.exec_driver_sql(_INDEX)
    connection.exec_driver_sql(_FILL_SQLITE if is_sqlite else _FILL_POSTGRESQL)
