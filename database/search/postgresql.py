"""The full-text indexes on PostgreSQL: a `tsvector` for each message, document and passage of a file, in a GIN index.

The terms are those of `database.search.index`, words behind the prefix of their owner, put into the vector with their
places as they are: no dictionary of the database changes them. The tokens of owner and conversation are lexemes of it
too, with a colon that no word has.

GIN returns all that say a word, in no order, and whoever wants the newest of a million would wait for all of them. So
each vector of a message also holds the tokens of its blocks of consecutive `seq`, of 1,024 to 262,144, and the newest
blocks are asked first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from sqlalchemy import Connection, TextClause, text

_COLON = ":"
# Limits of a `tsvector`: beyond them, words of a very long message are not in the index.
_LONGEST_TERM = 500
_PLACES_OF_A_WORD = 255
_LAST_PLACE = 16_383
_MOST_BYTES = 1_000_000
_BYTES_OF_A_PLACE, _BYTES_OF_A_WORD = 2, 5

_NO_END = 2**62
BLOCKS = (1_024, 4_096, 16_384, 65_536, 262_144)
"""How many consecutive `seq` a block has, by its level."""

# How many times as many messages are asked for next at most; where nothing was found, it is rare, or another person's.
_GROWTH, _GROWTH_OF_NOTHING = 16, 256
_MARGIN = 1.25

_MESSAGES = "message_terms"
_TABLES = (_MESSAGES, "document_terms", "passage_terms")
_PUT = {
    table: text(f"INSERT INTO {table} (seq, length, words) VALUES (:seq, :length, CAST(:words AS tsvector))")  # noqa: S608
    for table in _TABLES
}
_REMOVE = {table: text(f"DELETE FROM {table} WHERE seq = ANY(CAST(:seqs AS bigint[]))") for table in _TABLES}  # noqa: S608
# The query of the words first: asked for the newest, the planner might walk through everybody's messages instead, or
# collect all up to a number beside it, as plans for any number do.
_NEWEST_OWNED = {
    table: text(
        f"WITH said AS MATERIALIZED (SELECT seq FROM {table} WHERE words @@ CAST(:expression AS tsquery)) "  # noqa: S608
        "SELECT seq FROM said ORDER BY seq DESC LIMIT :most"
    )
    for table in _TABLES
    if table != _MESSAGES
}
_HITS = """(
    WITH said AS MATERIALIZED (
        SELECT seq, length FROM message_terms WHERE words @@ CAST(:expression{n} AS tsquery) {within}
    ), looked_at AS (
        SELECT seq, length FROM said WHERE seq < :end{n} ORDER BY seq DESC LIMIT :looked_at{n}
    ), hits AS (
        SELECT looked_at.seq, looked_at.length FROM looked_at {condition} ORDER BY looked_at.seq DESC LIMIT :most{n}
    )
    SELECT {n}, array_agg(seq ORDER BY seq DESC), array_agg(length ORDER BY seq DESC), (SELECT count(*) FROM looked_at)
    FROM hits
)"""
_WITHIN = "AND words @@ CAST(:blocks{n} AS tsquery)"
_LAST_BEFORE = text("SELECT max(seq) FROM message_terms WHERE seq < :end")
# Most words are said in the newest messages; of one that isn't, GIN collects all that say it.
_LEVEL = 1
_NEWEST_BLOCK = f"max(seq) / {BLOCKS[_LEVEL]}"
FORGET_WORDS = f"""
    DELETE FROM message_words WHERE word IN {{given}} AND CASE
        WHEN EXISTS (
            SELECT 1 FROM message_terms
            WHERE words @@ CAST(quote_literal(message_words.word) AS tsquery) AND words @@ CAST((
                SELECT concat_ws(
                    ' | ',
                    quote_literal('\\:b{_LEVEL}.' || {_NEWEST_BLOCK}),
                    quote_literal('\\:b{_LEVEL}.' || {_NEWEST_BLOCK} - 1)
                ) FROM message_terms
            ) AS tsquery)
        ) THEN false
        ELSE NOT EXISTS (
            SELECT 1 FROM message_terms WHERE words @@ CAST(quote_literal(message_words.word) AS tsquery)
        )
    END
"""  # noqa: S608
"""Deletes the words that no message of the index says; `given`: words, as a query."""

_BEGINNING_WITH = text(
    "SELECT word FROM message_words WHERE word >= :beginning AND word < :end ORDER BY word LIMIT :most"
)
_EMPTY = text("TRUNCATE message_terms")


def put(connection: Connection, texts: Iterable[tuple[int, str, str, str]]) -> None:
    """Add rows of the index: (seq, token of the owner, token of the conversation, terms parted by spaces)."""
    rows = [_row(seq, (owner, conversation, *_block_tokens(seq)), body) for seq, owner, conversation, body in texts]
    _put(connection, _MESSAGES, rows)


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


class Hits(NamedTuple):
    """Messages that fit, newest first, and how many words each has."""

    seqs: list[int]
    lengths: list[int]


def newest(
    connection: Connection,
    expression: str,
    *,
    before: int,
    most: int,
    looked_at: int | None = None,
    condition: str = "",
    parameters: Mapping[str, object] | None = None,
) -> Hits:
    """The newest messages with a `seq` below `before` that fit `expression`, at most `most`.

    condition: SQL behind `FROM looked_at` that drops some of the hits, with its `parameters`. looked_at: how many hits
    the condition is tried on; None: as many as are wanted.
    """
    end = _end(connection, before)
    walk = _Walk(expression, end, most=most, looked_at=most if looked_at is None else looked_at)
    while not walk.is_over:
        _step(connection, [walk], condition, parameters or {})
    return walk.found


def newest_of_each(connection: Connection, expressions: Sequence[str], *, most: int) -> list[Sequence[int]]:
    """`seq` of the newest messages that fit each expression, at most `most` each. Asked for together."""
    end = _end(connection, _NO_END)
    walks = [_Walk(expression, end, most=most, looked_at=most) for expression in expressions]
    while going_on := [walk for walk in walks if not walk.is_over]:
        _step(connection, going_on, "", {})
    return [walk.found.seqs for walk in walks]


class _Walk:
    """From the newest messages to older ones, some blocks at a time, until enough are found.

    end: the first `seq` that is not looked at any more.
    """

    def __init__(self, expression: str, end: int, *, most: int, looked_at: int) -> None:
        self.found = Hits([], [])
        self._expression = expression
        self._beyond = self._end = end
        self._most, self._limit = most, looked_at
        self._looked = 0
        self._width = most

    @property
    def is_over(self) -> bool:
        return not self._end or len(self.found.seqs) >= self._most or self._looked >= self._limit

    def ask(self) -> tuple[bool, dict[str, object]]:
        """Whether some blocks are asked for, not all the rest, and the parameters of `_HITS`."""
        self._level, self._blocks = _newest_blocks(self._end, self._width)
        is_within = self._blocks.start > 0
        return is_within, {
            "expression": self._expression,
            "end": self._end,
            "looked_at": self._limit - self._looked,
            "most": self._most - len(self.found.seqs),
            **({"blocks": _any_block(self._level, self._blocks)} if is_within else {}),
        }

    def take(self, seqs: Sequence[int] | None, lengths: Sequence[int] | None, looked: int) -> None:
        """What was found in the blocks that were asked for."""
        self.found.seqs.extend(seqs or ())
        self.found.lengths.extend(lengths or ())
        self._looked += looked
        self._end = max(0, self._blocks.start) * BLOCKS[self._level]
        wanted = self._most - len(self.found.seqs), self._limit - self._looked
        per_hit = min(map(_ratio, wanted, (len(self.found.seqs), self._looked)))
        growth = _GROWTH if self._looked else _GROWTH_OF_NOTHING
        self._width = math.ceil((self._beyond - self._end) * min(growth, _MARGIN * per_hit))


def _step(connection: Connection, walks: Sequence[_Walk], condition: str, parameters: Mapping[str, object]) -> None:
    """Ask for the next blocks of each walk, by one statement."""
    asked = [walk.ask() for walk in walks]
    statement = _statement(tuple(is_within for is_within, _ in asked), condition)
    given = {f"{name}{n}": value for n, (_, values) in enumerate(asked) for name, value in values.items()}
    for n, seqs, lengths, looked in connection.execute(statement, {**given, **parameters}).all():
        walks[n].take(seqs, lengths, looked)


@lru_cache(maxsize=256)
def _statement(within: tuple[bool, ...], condition: str) -> TextClause:
    """Asks for the hits of so many walks, by their numbers; within: which of them in some blocks."""
    asked = (
        _HITS.format(n=n, within=_WITHIN.format(n=n) if is_within else "", condition=condition)
        for n, is_within in enumerate(within)
    )
    return text(" UNION ALL ".join(asked))


def _end(connection: Connection, before: int) -> int:
    """The first `seq` below or at `before` behind which there is no message; 0 where none comes before."""
    newest: int | None = connection.execute(_LAST_BEFORE, {"end": before}).scalar()
    return 0 if newest is None else newest + 1


def _newest_blocks(end: int, width: int) -> tuple[int, range]:
    """A size, by its place in `BLOCKS`, and the blocks of this size that hold about `width` messages before `end`."""
    level = max((level for level, size in enumerate(BLOCKS) if 2 * size <= width), default=0)
    newest = (end - 1) // BLOCKS[level]
    return level, range(newest - max(1, round(width / BLOCKS[level])) + 1, newest + 1)


def newest_owned(connection: Connection, table: str, expression: str, *, most: int) -> Sequence[int]:
    """The numbers of the newest texts of an index of `database.search.owned` that fit, at most `most`."""
    return connection.execute(_NEWEST_OWNED[table], {"expression": expression, "most": most}).scalars().all()


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
        one = f"({' | '.join(map(_quoted, completions))})"
        terms[-1] = f"({' <-> '.join([*map(_quoted, phrases[-1][:-1]), one])})"
    elif beginning:
        terms[-1] = f"{terms[-1][:-1]}:*)"
    terms += [f"({' | '.join(map(_quoted, one_of))})"] if one_of else []
    wanted = [_quoted(_COLON + token) for token in tokens] + terms
    unwanted = [_phrase(phrase) for phrase in excluded] + [_quoted(_COLON + token) for token in unwanted_tokens]
    return " & ".join(wanted + [f"!{each}" for each in unwanted])


def _any_block(level: int, blocks: range) -> str:
    return " | ".join(_quoted(f"{_COLON}b{level}.{block}") for block in blocks)


def _block_tokens(seq: int) -> Iterator[str]:
    """The tokens of the blocks that a message is in."""
    return (f"b{level}.{seq // size}" for level, size in enumerate(BLOCKS))


def _ratio(wanted: int, found: int) -> float:
    return wanted / found if found else math.inf


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
