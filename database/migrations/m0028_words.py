"""The list of the words of indexed messages, filled from the full-text index that there is.

Where SQLite's index is damaged, the list stays empty and a new, empty index takes the place of the old one. Both are
filled behind, as those of a new store are; the old index becomes `messages_fts_retired`, which upkeep removes. An index
too damaged for that stays, and the store opens as one of today with the same damage does.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

import logging

from sqlalchemy import Connection

log = logging.getLogger(__name__)
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

_RETIRED = "SELECT COUNT(*) FROM sqlite_master WHERE name = 'messages_fts_retired'"
_FILL_ANEW = "UPDATE search_state SET indexed_seq = 0 WHERE name = 'messages'"
# FTS5 opens no index whose list of segments (row 10) is damaged, not even to rename it: it gets an empty list.
_NO_SEGMENTS = "INSERT OR REPLACE INTO messages_fts_data (id, block) VALUES (10, zeroblob(7))"
_NEW_INDEX = """
    CREATE VIRTUAL TABLE messages_fts USING fts5(
        owner, conversation, body, content='', tokenize='ascii', prefix='2 3')
"""
_NO_LENGTHS = "DELETE FROM messages_fts_lengths"


def upgrade(connection: Connection) -> None:
    """Create and fill the list; a new store has an empty one already."""
    _create(connection)
    connection.exec_driver_sql(_FILL_SQLITE if connection.dialect.name == "sqlite" else _FILL_POSTGRESQL)


def upgrade_with_new_index(connection: Connection) -> None:
    """Create an empty list, and put an empty index in the place of SQLite's damaged one."""
    # An earlier index may still wait to be removed; then the damaged one was being filled in its place.
    has_retired = bool(connection.exec_driver_sql(_RETIRED).scalar())
    retire = "DROP TABLE messages_fts" if has_retired else "ALTER TABLE messages_fts RENAME TO messages_fts_retired"
    _create(connection)
    for statement in (_NO_SEGMENTS, retire, _NEW_INDEX, _NO_LENGTHS, _FILL_ANEW):
        connection.exec_driver_sql(statement)
    log.warning("The full-text index is damaged. It is made anew from the messages.")


def upgrade_with_empty_list(connection: Connection) -> None:
    """Create an empty list; the index is too damaged to be replaced."""
    _create(connection)
    connection.exec_driver_sql(_FILL_ANEW)
    log.error("The full-text index is damaged and can't be replaced. Restore a backup.")


def _create(connection: Connection) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    types = {"text": "TEXT", "integer": "INTEGER"} if is_sqlite else {"text": 'TEXT COLLATE "C"', "integer": "BIGINT"}
    connection.exec_driver_sql(_TABLE.format(**types, without_rowid="WITHOUT ROWID" if is_sqlite else ""))
    connection.exec_driver_sql(_INDEX)
