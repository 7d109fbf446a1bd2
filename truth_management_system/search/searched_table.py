"""Asking SQLite's FTS5 which of one user's rows hold which words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..crud.base import marks
from ..database import PKBDatabase

NEWEST_HITS = 500
"""Of a word that more rows hold, the newest so many are looked at."""

_NEWEST_UNSPACED = 20_000
_SHORTEST_STEM, _LONGEST_ENDING = 3, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedTable:
    """A table with a full-text index `<name>_fts`.

    rowid: its integer key. number: the column that counts a user's rows upwards. body: the column whose length counts.
    columns: groups of indexed columns with the weight of a word found there, the weightiest first.
    """

    name: str
    rowid: str
    number: str
    body: str
    columns: tuple[tuple[tuple[str, ...], float], ...]

    @property
    def all_columns(self) -> tuple[str, ...]:
        """Every indexed column."""
        return tuple(column for group, _ in self.columns for column in group)


@dataclass(slots=True)
class Rows:
    """Rows with a word. lengths: rowid → characters. weights: rowid → how much the word counts there, 0 to 1."""

    lengths: dict[int, int] = field(default_factory=dict)
    weights: dict[int, float] = field(default_factory=dict)

    def add(self, lengths: Mapping[int, int], weights: Mapping[int, float]) -> None:
        """Add further rows; what is known of one already stays."""
        self.lengths = {**lengths, **self.lengths}
        self.weights = {**weights, **self.weights}


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """Which rows of a table are looked at: the user's, as far as `conditions` (joined by AND) let them through.

    owns_most: the user has at least half of all rows. Then it is cheaper to drop others' rows than not to look at them,
    so `newest` and `among`, which only look into the index, may give some of theirs; the rest gives the user's alone.
    """

    db: PKBDatabase
    table: SearchedTable
    user_email: str
    conditions: Sequence[str] = ()
    parameters: Sequence[Any] = ()
    owns_most: bool = False

    def newest(self, expression: str) -> list[int]:
        """The newest rows that match an expression of FTS5, whatever the conditions; newest first."""
        sql = f"SELECT rowid {self._matching()} ORDER BY rowid DESC LIMIT ?"
        return [rowid for (rowid,) in self.db.select(sql, [self._own(expression), NEWEST_HITS])]

    def among(self, either: str, word: str) -> set[int]:
        """All rows that match both expressions, whatever the conditions."""
        return {
            rowid
            for (rowid,) in self.db.select(f"SELECT rowid {self._matching()}", [self._own(f"({either}) AND {word}")])
        }

    def rows(self, rowids: Sequence[int], *, beginning: str) -> Rows:
        """Those of `rowids` that the conditions let through; where `beginning` is decides about the weight."""
        if not rowids:
            return Rows()
        name = self.table.name
        source = f"FROM {name} WHERE {name}.{self.table.rowid} IN ({marks(rowids)}) AND {self._where()}"
        return self._rows(source, [*rowids, *self._values()], beginning)

    def newest_rows(self, expression: str, *, beginning: str, limit: int = NEWEST_HITS) -> Rows:
        """The newest `limit` rows that match an expression and that the conditions let through."""
        name, rowid = self.table.name, f"{self.table.name}.{self.table.rowid}"
        source = (
            f"FROM {name}_fts CROSS JOIN {name} ON {rowid} = {name}_fts.rowid "
            f"WHERE {name}_fts MATCH ? AND {self._where()} ORDER BY {name}_fts.rowid DESC LIMIT ?"
        )
        return self._rows(source, [self._own(expression), *self._values(), limit], beginning)

    def containing(self, text: str) -> Searched:
        """Of these rows, those with `text`, in lowercase, anywhere in what is searched."""
        condition = f"instr(lower({self._joined(self.table.all_columns)}), ?) > 0"
        return replace(self, conditions=[*self.conditions, condition], parameters=[*self.parameters, text])

    def newest_containing(self, pieces: Sequence[str]) -> Sequence[Sequence[Any]]:
        """(rowid, text) of the rows that contain any of `pieces`, among the user's newest 20,000."""
        name = self.table.name
        newest = (
            f"SELECT {name}.{self.table.rowid} AS found, {self._joined(self.table.columns[0][0])} AS text FROM {name} "
            f"WHERE {' AND '.join([f'{name}.user_email = ?', *self.conditions])} "
            f"ORDER BY {name}.{self.table.number} DESC LIMIT {_NEWEST_UNSPACED}"
        )
        anywhere = " OR ".join("instr(text, ?) > 0" for _ in pieces)
        return self.db.select(f"SELECT found, text FROM ({newest}) WHERE {anywhere}", [*self._values(), *pieces])

    def last_number(self) -> int:
        """The number of the user's newest row; 0 for none."""
        sql = f"SELECT COALESCE(MAX({self.table.number}), 0) FROM {self.table.name} WHERE user_email = ?"
        return int(self.db.select(sql, [self.user_email])[0][0])

    def last_rowid(self) -> int:
        """The key of the newest row of all; 0 for none."""
        return int(self.db.select(f"SELECT COALESCE(MAX({self.table.rowid}), 0) FROM {self.table.name}")[0][0])

    def number_of(self, rowid: int) -> int:
        """The number of a row."""
        sql = f"SELECT {self.table.number} FROM {self.table.name} WHERE {self.table.rowid} = ?"
        return int(self.db.select(sql, [rowid])[0][0])

    def _rows(self, source: str, values: Sequence[Any], beginning: str) -> Rows:
        name = self.table.name
        weight, more = self._weight(beginning)
        sql = f"SELECT {name}.{self.table.rowid}, length({name}.{self.table.body}), {weight} {source}"
        found = self.db.select(sql, [*more, *values])
        return Rows({row[0]: row[1] for row in found}, {row[0]: row[2] for row in found})

    def _weight(self, beginning: str) -> tuple[str, list[Any]]:
        *higher, (_, lowest) = self.table.columns
        if not higher:
            return str(lowest), []
        cases = " ".join(
            f"WHEN instr(lower({self._joined(columns)}), ?) > 0 THEN {weight}" for columns, weight in higher
        )
        return f"CASE {cases} ELSE {lowest} END", [beginning for _ in higher]

    def _joined(self, columns: Sequence[str]) -> str:
        return " || ' ' || ".join(f"COALESCE({self.table.name}.{column}, '')" for column in columns)

    def _matching(self) -> str:
        return f"FROM {self.table.name}_fts WHERE {self.table.name}_fts MATCH ?"

    def _own(self, expression: str) -> str:
        owner = None if self.owns_most else self.user_email
        return indexed_expression(expression, columns=self.table.all_columns, owner=owner)

    def _where(self) -> str:
        # The plus keeps SQLite from walking through all of the user's rows by the index that begins with them.
        return " AND ".join([f"+{self.table.name}.user_email = ?", *self.conditions])

    def _values(self) -> list[Any]:
        return [self.user_email, *self.parameters]


def indexed_expression(expression: str, *, columns: Sequence[str], owner: str | None) -> str:
    """An expression of FTS5 as it is asked of some columns, and of one user's rows unless `owner` is None."""
    within = f"{{{' '.join(columns)}}} : ({expression})"
    return within if owner is None else f'owner : "u{owner.encode().hex()}" AND ({within})'


def shortened(word: str) -> list[str]:
    """What the index may hold of a word that was typed in part: it keeps stems, such as "organ" of "organiz(ation)"."""
    return [word[:end] for end in range(max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING), len(word))]
