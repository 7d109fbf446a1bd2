"""Full-text indexes whose words stand behind a prefix of their owner: nobody walks through other people's words.

The index of messages is filled behind, as that of a new store is; SQLite's old one becomes `messages_fts_retired`,
which upkeep removes, or stays where it is too damaged even for that. Those of documents and of passages of files are
filled here. The mark and the tables have new names: servers of an earlier version, which go on for minutes while
several processes are replaced one after the other, fail there instead of writing words without prefixes.

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
_NOTHING_INDEXED = (
    "DELETE FROM message_words",
    "DELETE FROM search_state WHERE name = 'messages'",
    "INSERT INTO search_state (name, indexed_seq) VALUES ('message_terms', 0)",
)
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
_OWNED = (
    ("documents_fts", "document_terms", "documents", "document_id", "title || char(10) || text"),
    ("passages_fts", "passage_terms", "file_passages", "passage_id", "text"),
)
"""Old index, new one, and the table of the texts: its key, and what is indexed."""
_NEW_OWNED = "CREATE VIRTUAL TABLE {new} USING fts5(owner, body, content='', tokenize='ascii', prefix='10 11')"
_OWNED_TEXTS = "SELECT {number}, user_email, {text} FROM {source}"
_PUT_OWNED = "INSERT INTO {new} (rowid, owner, body) VALUES (?, ?, ?)"
_AT_ONCE = 50
_RENAME = ("ALTER TABLE {old} RENAME TO {new}", "ALTER INDEX idx_{old}_words RENAME TO idx_{new}_words")
_OWNERS = "SELECT DISTINCT user_email FROM {source}"
# A lexeme holds neither quotes nor backslashes; that of the owner begins with a colon and has no places. With prefixes
# the last words of the longest texts find no more room: a vector has 1 MB at most.
_PREFIXED = """
    UPDATE {new} SET words = (
        SELECT CAST(COALESCE(string_agg(
            CASE
                WHEN left(lexeme, 1) = ':' THEN quote_literal(lexeme)
                ELSE quote_literal(CAST(%(prefix)s AS text) || left(lexeme, 492))
                    || ':' || array_to_string(positions, ',')
            END,
            ' '
        ), '') AS TSVECTOR)
        FROM (
            SELECT lexeme, positions, sum(octet_length(lexeme) + 13 + 2 * COALESCE(cardinality(positions), 0))
                OVER (ORDER BY positions[1] NULLS FIRST, lexeme) AS bytes
            FROM unnest({new}.words)
        ) AS said
        WHERE bytes < 1000000
    )
    FROM {source} AS source WHERE source.{number} = {new}.seq AND source.user_email = %(user_email)s
"""

_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]+")
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u30ff\u3400-\u9fff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_UNSPACED}]|(?:[^\W_{_UNSPACED}]|[\u0900-\u0dff])+")
_DIGITS = "0123456789abcdefghijklmnopqrstuv"


def upgrade(connection: Connection) -> None:
    """Put new indexes in the place of the old ones."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("TRUNCATE messages_fts")
        _prefix_owned(connection)
    else:
        drops = bool(connection.exec_driver_sql(_DROPS_IT).scalar())
        retire = "DROP TABLE messages_fts" if drops else "ALTER TABLE messages_fts RENAME TO messages_fts_retired"
        for statement in (_NO_SEGMENTS.format(table="messages_fts"), retire, _NEW_INDEX, _NO_LENGTHS):
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
    for old, new, source, number, text in _OWNED:
        for statement in (_NO_SEGMENTS.format(table=old), f"DROP TABLE {old}", _NEW_OWNED.format(new=new)):
            connection.exec_driver_sql(statement)
        texts = _OWNED_TEXTS.format(number=number, text=text, source=source)
        for rows in connection.exec_driver_sql(texts, execution_options={"yield_per": _AT_ONCE}).partitions():
            connection.exec_driver_sql(_PUT_OWNED.format(new=new), _terms(rows))


def _terms(rows: Iterable[Sequence[Any]]) -> list[tuple[int, str, str]]:
    terms = []
    for number, user_email, text in rows:
        prefix, owner = _prefix(user_email), "u" + blake2s(user_email.encode(), digest_size=10).hexdigest()
        terms.append((number, owner, " ".join(prefix + word for word in _words(text))))
    return terms


def _prefix_owned(connection: Connection) -> None:
    for old, new, source, number, _ in _OWNED:
        for statement in _RENAME:
            connection.exec_driver_sql(statement.format(old=old, new=new))
        prefixed = _PREFIXED.format(new=new, source=source, number=number)
        for (user_email,) in connection.exec_driver_sql(_OWNERS.format(source=source)).all():
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
