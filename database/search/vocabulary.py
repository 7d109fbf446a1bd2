"""The vocabulary of each person's indexed messages: tells which words contain a given part of a word.

`index` adds the terms of each message that it indexes: words behind the prefix of their owner. The terms of a message
that is removed from the index are marked as doubtful, and `forget_unsaid` deletes those that no other message contains.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

import orjson
from sqlalchemy import Connection, delete, func, literal_column, or_, select, text

from database.engine.database import Database, Urgency
from database.schema import message_words

from . import postgresql

LONGEST_TERM = 500
"""Of longer terms the list has the beginning. It is as long as the longest lexeme of `postgresql`."""

_DOUBTED_AT_ONCE = 200
_w = message_words.c
_DOUBTED = select(_w.word).where(_w.doubted == literal_column("1")).limit(_DOUBTED_AT_ONCE)
_GIVEN = {
    "sqlite": "(SELECT value FROM json_each(:words))",
    "postgresql": "(SELECT json_array_elements_text(CAST(:words AS json)))",
}
_ADD = "INSERT INTO message_words (word) SELECT * FROM {given} AS given WHERE true ON CONFLICT DO NOTHING"
_DOUBT = "UPDATE message_words SET doubted = 1 WHERE word IN {given}"
_TRUST = "UPDATE message_words SET doubted = 0 WHERE word IN {given}"
# SQLite's names the index for the reason of `index.completions`.
_FORGET = {
    "sqlite": """
        DELETE FROM message_words WHERE word IN {given}
            AND NOT EXISTS (SELECT 1 FROM messages_fts WHERE FALSE) AND NOT CASE
            WHEN length(word) < 500 THEN EXISTS (SELECT 1 FROM messages_words WHERE term = message_words.word)
            ELSE EXISTS (
                SELECT 1 FROM messages_words
                WHERE term >= message_words.word AND term < message_words.word || char(1114111)
            )
        END
    """,
    "postgresql": postgresql.FORGET_WORDS,
}


def add(connection: Connection, bodies: Iterable[str]) -> None:
    """Add the terms of indexed texts. bodies: terms separated by spaces."""
    _run(connection, _ADD, bodies)


def doubt(connection: Connection, bodies: Iterable[str]) -> None:
    """Mark the terms of texts that are removed from the index as doubtful."""
    _run(connection, _DOUBT, bodies)


def empty(connection: Connection) -> None:
    """Empty the vocabulary before the index is filled anew."""
    connection.execute(delete(message_words))


def forget_unsaid(*, database: Database) -> int:
    """Delete the doubtful words that no indexed message contains, slice by slice; returns how many."""
    forgotten = 0
    while _are_doubted(database):
        forgotten += database.write(_forget_slice, urgency=Urgency.INDEX)
    return forgotten


def words_with(connection: Connection, prefix: str, part: str, *, at_end: bool, most: int) -> list[str] | None:
    """The words behind `prefix`, so of one person, that hold `part`, which is folded; None where more than `most` do.

    at_end: only those that end with it. The longest words of the list are among them, since they may go on.
    """
    word = func.substr(_w.word, len(prefix) + 1)
    if connection.dialect.name == "postgresql":
        holds = func.right(word, len(part)) == part if at_end else func.strpos(word, part) > 0
    else:
        holds = func.substr(word, -len(part)) == part if at_end else func.instr(word, part) > 0
    theirs = _w.word.between(prefix, prefix + chr(sys.maxunicode))
    query = select(word).where(theirs, or_(holds, func.length(_w.word) >= LONGEST_TERM)).limit(most + 1)
    found = list(connection.execute(query).scalars())
    return found if len(found) <= most else None


def _are_doubted(database: Database) -> bool:
    with database.reading() as connection:
        return connection.execute(_DOUBTED).first() is not None


def _forget_slice(connection: Connection) -> int:
    words = list(connection.execute(_DOUBTED).scalars())
    forgotten = _run(connection, _FORGET[connection.dialect.name], words)
    _run(connection, _TRUST, words)
    return forgotten


def _run(connection: Connection, sql: str, bodies: Iterable[str]) -> int:
    """Run a statement on all words of `bodies`; how many rows it changed."""
    words = sorted({word[:LONGEST_TERM] for body in bodies for word in body.split()})
    if not words:
        return 0
    statement = text(sql.format(given=_GIVEN[connection.dialect.name]))
    return int(connection.execute(statement, {"words": orjson.dumps(words).decode()}).rowcount)
