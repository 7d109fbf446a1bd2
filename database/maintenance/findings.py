"""What a check of a store finds, and how a full-text index is compared with its rows in little memory."""

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
"""A connection of the driver's own: rules are about one file, not about a store in general."""

_MOST = 100
"""So many of one kind are told; a store of a million rows may break a rule a million times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is not as it should be.

    rule: which one is broken. what: a sentence. derived: it follows from something else, and can be made anew. fine:
    nothing is wrong, but one might wonder.
    """

    rule: str
    what: str
    derived: bool = False
    fine: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A query whose rows are what is wrong. what: a sentence with a `{}` for each of its columns, in order."""

    name: str
    sql: str
    what: str
    derived: bool = False

    def broken(self, connection: FileConnection) -> Iterator[Finding]:
        """What breaks it: the first hundred one by one, the others as a number."""
        rows = connection.execute(self.sql)
        return first_ones(Finding(rule=self.name, what=self.what.format(*row), derived=self.derived) for row in rows)


def first_ones(findings: Iterator[Finding]) -> Iterator[Finding]:
    """The first hundred of `findings`, which are of one kind, and then how many more there are."""
    yield from islice(findings, _MOST)
    for last in findings:
        more = 1 + sum(1 for _ in findings)
        yield replace(last, what=f"{more} more of the same.")


def examine(path: Path, find: Callable[[FileConnection], Iterator[Finding]]) -> Iterator[Finding]:
    """What is wrong with the file at `path` itself, then what `find` finds in it; all in one state, nothing changed."""
    try:
        with closing(sqlite.connect_read_only(path)) as connection:
            connection.execute("BEGIN")
            connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            yield from look(connection, STRUCTURE)
            yield from find(connection)
    except sqlite.DRIVER_ERRORS as error:
        yield Finding(rule="file", what=f"{path.name} can't be read: {error}.")


def look(connection: FileConnection, rules: Sequence[Rule]) -> Iterator[Finding]:
    """What breaks any of `rules`; one that can't be asked is a finding itself."""
    for rule in rules:
        yield from guarded(rule.name, partial(rule.broken, connection), derived=rule.derived)


def guarded(rule: str, find: Callable[[], Iterator[Finding]], *, derived: bool) -> Iterator[Finding]:
    """What `find` finds; where the store is too damaged for that, this is what it finds."""
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
"""What every store has to fulfil: its file is whole, and no row belongs to one that is missing."""


_BINS = 1 << 16
_MASK = (1 << 63) - 1
_LONGEST_WORD = 32_768

Occurrence = tuple[int, str, int, bytes]
"""(row, column, place in it, word as UTF-8)"""


class IndexSums:
    """What an index holds, as sums."""

    def __init__(self) -> None:
        self._bins = array("q", bytes(8 * _BINS))

    def add(self, occurrences: Iterable[Occurrence]) -> None:
        """Add words; in which order does not matter."""
        bins = self._bins
        for occurrence in occurrences:
            place = occurrence[0] % _BINS
            bins[place] = (bins[place] + hash(occurrence)) & _MASK

    def differences(self, other: IndexSums) -> int:
        """How many bins differ: about as many rows, as long as those are few; 0 where all is the same."""
        return sum(mine != theirs for mine, theirs in zip(self._bins, other._bins, strict=True))


def as_kept(word: str) -> bytes:
    """A word as FTS5 keeps it whose tokenizer is `ascii`."""
    return word.encode().lower()[:_LONGEST_WORD]
