"""Full-text indexes whose words stand behind a prefix of their owner: nobody walks through other people's words.

The index of messages is filled behind, as that of a new store is; SQLite's old one, damaged or not, becomes
`messages_fts_retired`, which upkeep removes. Those of documents and of passages of files are filled here.

The statements and the cutting of words are literal: a migration describes the schema of its own time, never that of
today.
"""

from __future__ import annotations

import logging
import re
import unicodedata
from collections.abc import Iterable, Sequence
from hashlib import blake2s
from typing import Any

from sqlalchemy import Connection

log = logging.getLogger(__name__)
_NOTHING_INDEXED = ("DELETE FROM message_words", "UPDATE search_state SET indexed_seq = 0 WHERE name = 'messages'")
_DROPS_IT = """
    SELECT NOT EXISTS (SELECT 1 FROM messages)
        OR EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'messages_fts_retired')
"""
# FTS5 opens no index whose list of segments (row 10) is damaged, not even to rename it: it gets an empty list.
_NO_SEGMENTS = "INSERT OR REPLACE INTO messages_fts_data (id, block) VALUES (10, zeroblob(7))"
_NEW_INDEX = """
    CREATE VIRTUAL TABLE messages_fts USING fts5(
        owner, conversation, body, content='', tokenize='ascii', prefix='10 11')
"""
_NO_LENGTHS = "DELETE FROM messages_fts_lengths"
_OWNED = {
    "documents_fts": "SELECT document_id, user_email, title || char(10) || text FROM documents",
    "passages_fts": "SELECT passage_id, user_email, text FROM file_passages",
}
_NEW_OWNED = "CREATE VIRTUAL TABLE {table} USING fts5(owner, body, content='', tokenize='ascii', prefix='10 11')"
_PUT_OWNED = "INSERT INTO {table} (rowid, owner, body) VALUES (?, ?, ?)"
_AT_ONCE = 50
# A lexeme holds neither quotes nor backslashes and has 500 characters at most; the owner's begins with a colon. No
# expression of PostgreSQL counts beyond 255.
_LEXEME = "'(^| )''([^:''][^'']{0,246}[^'']{0,245})[^'']*'''"
_PREFIXED = {
    table: f"""
        UPDATE {table} SET words = CAST(
            regexp_replace(
                CAST({table}.words AS text), {_LEXEME}, '\\1''' || CAST(%(prefix)s AS text) || '\\2''', 'g'
            ) AS TSVECTOR
        )
        FROM {source} AS source WHERE source.{number} = {table}.seq AND source.user_email = %(user_email)s
    """  # noqa: S608 - names of our tables
    for table, source, number in (
        ("documents_fts", "documents", "document_id"),
        ("passages_fts", "file_passages", "passage_id"),
    )
}
_OWNERS = "SELECT DISTINCT user_email FROM {table}"

_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|(?:[^\W_{_UNSPACED}]|[\u0900-\u0dff])+")
_DIGITS = "0123456789abcdefghijklmnopqrstuv"


def upgrade(connection: Connection) -> None:
    """Put new indexes in the place of the old ones."""
    if connection.dialect.name == "postgresql":
        _upgrade_postgresql(connection)
    else:
        # An earlier index may still wait to be removed; then this one was being filled in its place.
        drops = bool(connection.exec_driver_sql(_DROPS_IT).scalar())
        retire = "DROP TABLE messages_fts" if drops else "ALTER TABLE messages_fts RENAME TO messages_fts_retired"
        for statement in (_NO_SEGMENTS, retire, _NEW_INDEX, _NO_LENGTHS):
            connection.exec_driver_sql(statement)
        _fill_owned(connection)
    _begin_anew(connection)


def upgrade_with_old_index(connection: Connection) -> None:
    """Put new indexes of documents and passages in the place of the old ones; that of messages is too damaged."""
    _fill_owned(connection)
    _begin_anew(connection)
    log.error("The full-text index is damaged and can't be replaced. Restore a backup.")


def _begin_anew(connection: Connection) -> None:
    for statement in _NOTHING_INDEXED:
        connection.exec_driver_sql(statement)


def _fill_owned(connection: Connection) -> None:
    for table, texts in _OWNED.items():
        connection.exec_driver_sql(f"DROP TABLE {table}")
        connection.exec_driver_sql(_NEW_OWNED.format(table=table))
        for rows in connection.exec_driver_sql(texts, execution_options={"yield_per": _AT_ONCE}).partitions():
            connection.exec_driver_sql(_PUT_OWNED.format(table=table), _terms(rows))


def _terms(rows: Iterable[Sequence[Any]]) -> list[tuple[int, str, str]]:
    terms = []
    for number, user_email, text in rows:
        prefix, owner = _prefix(user_email), "u" + blake2s(user_email.encode(), digest_size=10).hexdigest()
        terms.append((number, owner, " ".join(prefix + word for word in _words(text))))
    return terms


def _upgrade_postgresql(connection: Connection) -> None:
    connection.exec_driver_sql("TRUNCATE messages_fts")
    for prefixed, source in zip(_PREFIXED.values(), ("documents", "file_passages"), strict=True):
        for (user_email,) in connection.exec_driver_sql(_OWNERS.format(table=source)).all():
            connection.exec_driver_sql(prefixed, {"prefix": _prefix(user_email), "user_email": user_email})


def _prefix(user_email: str) -> str:
    number = int.from_bytes(blake2s(user_email.encode(), digest_size=8).digest())
    first, *others = (number >> 5 * place & 31 for place in range(8))
    return "".join((str(first % 10), *(_DIGITS[other] for other in others)))


def _words(text: str) -> list[str]:
    folded = text.lower()
    if not text.isascii():
        folded = _OPTIONAL_MARKS.sub("", unicodedata.normalize("NFKD", text).lower())
    return _WORD.findall(folded)
