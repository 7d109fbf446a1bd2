"""The full-text indexes on PostgreSQL: a `tsvector` for each message, document and passage of a file, in a GIN index.

The terms are those of `database.search.index`, words behind the prefix of their owner, put into the vector with their
places as they are: no dictionary of the database changes them. The tokens of owner and conversation are lexemes of it
too, with a colon that no word has.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, text

_COLON = ":"
# Limits of a `tsvector`: beyond them, words of a very long message are not in the index.
_LONGEST_TERM = 500
_PLACES_OF_A_WORD = 255
_LAST_PLACE = 16_383
_MOST_BYTES = 1_000_000
_BYTES_OF_A_PLACE, _BYTES_OF_A_WORD = 2, 5

_MESSAGES = "messages_fts"
_TABLES = (_MESSAGES, "document_terms", "passage_terms")
_PUT = {
    table: text(f"INSERT INTO {table} (seq, length, words) VALUES (:seq, :length, CAST(:words AS tsvector))")  # noqa: S608
    for table in _TABLES
}
_REMOVE = {table: text(f"DELETE FROM {table} WHERE seq = ANY(CAST(:seqs AS bigint[]))") for table in _TABLES}  # noqa: S608
# The query of the words first: asked for the newest, the planner might walk through everybody's messages instead.
_NEWEST = {
    table: text(
        f"WITH hits AS MATERIALIZED (SELECT seq FROM {table} WHERE words @@ CAST(:expression AS tsquery)) "  # noqa: S608
        "SELECT seq FROM hits ORDER BY seq DESC LIMIT :most"
    )
    for table in _TABLES
}
FORGET_WORDS = """
    DELETE FROM message_words WHERE word IN {given} AND NOT EXISTS (
        SELECT 1 FROM messages_fts WHERE words @@ CAST(quote_literal(message_words.word) AS tsquery)
    )
"""
"""Deletes the words that no message of the index says; `given`: words, as a query."""

_BEGINNING_WITH = text(
    "SELECT word FROM message_words WHERE word >= :beginning AND word < :end ORDER BY word LIMIT :most"
)
_EMPTY = text("TRUNCATE messages_fts")


def put(connection: Connection, texts: Iterable[tuple[int, str, str, str]]) -> None:
    """Add rows of the index: (seq, token of the owner, token of the conversation, terms parted by spaces)."""
    _put(connection, _MESSAGES, [_row(seq, (owner, conversation), body) for seq, owner, conversation, body in texts])


def put_owned(connection: Connection, table: str, texts: Iterable[tuple[int, str, str]]) -> None:
    """Add rows of an index of `database.search.owned`: (number, token of the owner, terms parted by spaces)."""
    _put(connection, table, [_row(number, (owner,), body) for number, owner, body in texts])


def empty_owned(connection: Connection, table: str) -> None:
    """Take all texts out of an index of `database.search.owned`."""
    connection.exec_driver_sql(f"TRUNCATE {table}")


def remove(connection: Connection, seqs: Sequence[int]) -> None:
    """Take messages out of the index."""
    _remove(connection, _MESSAGES, seqs)


def remove_owned(connection: Connection, table: str, numbers: Sequence[int]) -> None:
    """Take texts out of an index of `database.search.owned`."""
    _remove(connection, table, numbers)


def empty(connection: Connection) -> None:
    """Take all messages out of the index."""
    connection.execute(_EMPTY)


def beginning_with(connection: Connection, beginning: str, *, most: int) -> list[str]:
    """The first terms of `message_words` that begin so, at most `most`."""
    parameters = {"beginning": beginning, "end": beginning + chr(sys.maxunicode), "most": most}
    return list(connection.execute(_BEGINNING_WITH, parameters).scalars())


def newest(connection: Connection, expression: str, *, most: int) -> Sequence[int]:
    """`seq` of the newest messages that fit `expression`, at most `most`."""
    return connection.execute(_NEWEST[_MESSAGES], {"expression": expression, "most": most}).scalars().all()


def newest_owned(connection: Connection, table: str, expression: str, *, most: int) -> Sequence[int]:
    """The numbers of the newest texts of an index of `database.search.owned` that fit, at most `most`."""
    return connection.execute(_NEWEST[table], {"expression": expression, "most": most}).scalars().all()


def expression_of(
    *,
    tokens: Sequence[str],
    phrases: Sequence[Sequence[str]],
    beginning: bool,
    completions: Sequence[str] | None,
    one_of: Sequence[str] = (),
    excluded: Sequence[Sequence[str]],
    unwanted_tokens: Sequence[str],
) -> str:
    """A `tsquery`: messages with all `tokens` and `phrases`, without those that are `excluded` or unwanted.

    beginning: the last word may go on. completions: the words that it may be, where that is known. one_of: words of
    which one is said.
    """
    terms = [_phrase(phrase) for phrase in phrases]
    if beginning and completions:
        *before, _ = phrases[-1]
        terms[-1] = f"({' | '.join(_phrase([*before, word]) for word in completions)})"
    elif beginning:
        terms[-1] = f"{terms[-1][:-1]}:*)"
    terms += [f"({' | '.join(map(_quoted, one_of))})"] if one_of else []
    wanted = [_quoted(_COLON + token) for token in tokens] + terms
    unwanted = [_phrase(phrase) for phrase in excluded] + [_quoted(_COLON + token) for token in unwanted_tokens]
    return " & ".join(wanted + [f"!{each}" for each in unwanted])


def _phrase(phrase: Sequence[str]) -> str:
    return f"({' <-> '.join(_quoted(word) for word in phrase)})"


def _quoted(word: str) -> str:
    """A lexeme; words hold neither quotes nor backslashes."""
    return f"'{word[:_LONGEST_TERM]}'"


def _put(connection: Connection, table: str, rows: Sequence[dict[str, object]]) -> None:
    if rows:
        connection.execute(_PUT[table], rows)


def _remove(connection: Connection, table: str, seqs: Sequence[int]) -> None:
    if seqs:
        connection.execute(_REMOVE[table], {"seqs": "{" + ",".join(map(str, seqs)) + "}"})


def _row(seq: int, tokens: Sequence[str], body: str) -> dict[str, object]:
    words = body.split()
    places: dict[str, list[str]] = {}
    room = _MOST_BYTES
    for place, word in enumerate(words, start=1):
        lexeme = word[:_LONGEST_TERM]
        known = places.get(lexeme)
        room -= _BYTES_OF_A_PLACE if known is not None else len(lexeme.encode()) + _BYTES_OF_A_WORD
        if room < 0:
            break
        if known is None:
            known = places[lexeme] = []
        if len(known) < _PLACES_OF_A_WORD:
            known.append(str(min(place, _LAST_PLACE)))
    vector = [f"'{word}':{','.join(at)}" for word, at in places.items()]
    lexemes = [_quoted(_COLON + token) for token in tokens]
    return {"seq": seq, "length": len(words), "words": " ".join([*lexemes, *vector])}
