"""Findings of a check of a store, rules as queries, and the comparison of a full-text index with its rows."""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

from database.engine import sqlite

FileConnection = sqlite3.Connection
"""A connection of the SQLite driver: rules are about one file."""

_MOST = 100
"""At most this many findings of one rule are listed one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A broken invariant.

    rule: its name. what: a sentence. derived: the data follows from other data, and can be rebuilt. fine: not an error,
    but worth mentioning.
    """

    rule: str
    what: str
    derived: bool = False
    fine: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A query whose rows break an invariant. what: a sentence with a `{}` for each column, in order."""

    name: str
    sql: str
    what: str
    derived: bool = False

    def broken(self, connection: FileConnection) -> Iterator[Finding]:
        """The rows that break the rule: the first hundred one by one, the others as a number."""
        rows = connection.execute(self.sql)
        return first_ones(Finding(rule=self.name, what=self.what.format(*row), derived=self.derived) for row in rows)


def first_ones(findings: Iterator[Finding]) -> Iterator[Finding]:
    """The first hundred of `findings` of one rule, then how many more there are."""
    yield from islice(findings, _MOST)
    for last in findings:
        more = 1 + sum(1 for _ in findings)
        yield replace(last, what=f"{more} more of the same.")


def examine(path: Path, find: Callable[[FileConnection], Iterator[Finding]]) -> Iterator[Finding]:
    """The findings about the file at `path` itself, then those of `find`, all in one read transaction."""
    try:
        with closing(sqlite.connect_read_only(path)) as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            yield from look(connection, STRUCTURE)
            yield from find(connection)
    except sqlite.DRIVER_ERRORS as error:
        yield Finding(rule="file", what=f"{path.name} can't be read: {error}.")


def look(connection: FileConnection, rules: Sequence[Rule]) -> Iterator[Finding]:
    """The findings of all `rules`; a rule that can't be queried is a finding itself."""
    for rule in rules:
        yield from guarded(rule.name, partial(rule.broken, connection), derived=rule.derived)


def guarded(rule: str, find: Callable[[], Iterator[Finding]], *, derived: bool) -> Iterator[Finding]:
    """The findings of `find`; a store too damaged to be queried is a finding."""
    try:
        yield from find()
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        yield Finding(rule=rule, what=f"This can't be looked at: {error}.", derived=derived)


STRUCTURE = (
    Rule(
        name="file", sql="SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'", what="{}"
    ),
    Rule(
        name="links",
        sql='SELECT "table", rowid, parent FROM pragma_foreign_key_check',
        what="Row {1} of {0} belongs to a row of {2} that is not there.",
    ),
)
"""Invariants of every store: the file is whole, and no foreign key dangles."""


_BINS = 1 << 16
_MASK = (1 << 63) - 1
_LONGEST_WORD = 32_768

Occurrence = tuple[int, str, int, bytes]
"""(row, column, place in it, word as UTF-8)"""


class IndexSums:
    """The words of a full-text index, as hash sums by row number: comparable in constant memory."""

    def __init__(self) -> None:
        self._bins = array("q", bytes(8 * _BINS))

    def add(self, occurrences: Iterable[Occurrence]) -> None:
        """Add words, in any order."""
        bins = self._bins
        for occurrence in occurrences:
            place = occurrence[0] % _BINS
            bins[place] = (bins[place] + hash(occurrence)) & _MASK

    def differences(self, other: IndexSums) -> int:
        """How many bins differ; 0 where both hold the same words."""
        return sum(mine != theirs for mine, theirs in zip(self._bins, other._bins, strict=True))


def as_kept(word: str) -> bytes:
    """A word as FTS5's tokenizer `ascii` stores it."""
    return word.encode().lower()[:_LONGEST_WORD]
