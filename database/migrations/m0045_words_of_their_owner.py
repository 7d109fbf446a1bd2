"""Full-text indexes whose words stand behind a prefix of their owner: nobody walks through other people's words.

All of them are filled behind. SQLite's old index of messages becomes `messages_fts_retired`, which upkeep removes, or
stays where it is too damaged even for that. The mark and the tables have new names: servers of an earlier version,
which go on for minutes while several processes are replaced one after the other, fail there instead of writing words
without prefixes.

The statements are literal: a migration describes the schema of its own time, never that of today.
"""

from __future__ import annotations

import logging

from sqlalchemy import Connection

log = logging.getLogger(__name__)
# Where there is nothing to remove slowly; where an earlier index still waits to be removed, this one was being filled.
_DROPS_IT = """
    SELECT NOT EXISTS (SELECT 1 FROM messages)
        OR EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'messages_fts_retired')
"""
# FTS5 opens no index whose list of segments (row 10) is damaged, not even to rename or drop it: it gets an empty list.
_NO_SEGMENTS = "INSERT OR REPLACE INTO {table}_data (id, block) VALUES (10, zeroblob(7))"
_NEW_INDEX = """
    CREATE VIRTUAL TABLE messages_fts USING fts5(
        owner, conversation, body, content='', tokenize='ascii', prefix='10 11')
"""
_NO_LENGTHS = "DELETE FROM messages_fts_lengths"
_OWNED = (("documents_fts", "document_terms"), ("passages_fts", "passage_terms"))
_NEW_OWNED = "CREATE VIRTUAL TABLE {new} USING fts5(owner, body, content='', tokenize='ascii', prefix='10 11')"
_EMPTY_OWNED = (
    "TRUNCATE {old}",
    "ALTER TABLE {old} RENAME TO {new}",
    "ALTER INDEX idx_{old}_words RENAME TO idx_{new}_words",
)
_NOTHING_INDEXED = (
    "DELETE FROM message_words",
    "DELETE FROM search_state WHERE name = 'messages'",
    "INSERT INTO search_state (name, indexed_seq) VALUES ('message_terms', 0)",
    "INSERT INTO search_state (name, indexed_seq) SELECT 'document_terms', 0 WHERE EXISTS (SELECT 1 FROM documents)",
    "INSERT INTO search_state (name, indexed_seq) SELECT 'passage_terms', 0 WHERE EXISTS (SELECT 1 FROM file_passages)",
)


def upgrade(connection: Connection) -> None:
    """Put new, empty indexes in the place of the old ones."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("TRUNCATE messages_fts")
        for old, new in _OWNED:
            for statement in _EMPTY_OWNED:
                connection.exec_driver_sql(statement.format(old=old, new=new))
    else:
        drops = bool(connection.exec_driver_sql(_DROPS_IT).scalar())
        retire = "DROP TABLE messages_fts" if drops else "ALTER TABLE messages_fts RENAME TO messages_fts_retired"
        for statement in (_NO_SEGMENTS.format(table="messages_fts"), retire, _NEW_INDEX, _NO_LENGTHS):
            connection.exec_driver_sql(statement)
        _replace_owned(connection)
    _begin_anew(connection)


def upgrade_with_old_index(connection: Connection) -> None:
    """Put new indexes of documents and passages in the place of the old ones; that of messages is too damaged."""
    _replace_owned(connection)
    _begin_anew(connection)
    log.error("The full-text index is damaged and can't be replaced. Restore a backup.")


def _replace_owned(connection: Connection) -> None:
    for old, new in _OWNED:
        for statement in (_NO_SEGMENTS.format(table=old), f"DROP TABLE {old}", _NEW_OWNED.format(new=new)):
            connection.exec_driver_sql(statement)


def _begin_anew(connection: Connection) -> None:
    for statement in _NOTHING_INDEXED:
        connection.exec_driver_sql(statement)
