"""Asking the full-text index which of one user's rows hold which words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, Text, bindparam, case, func, literal_column, select

from ..crud.base import json_list
from ..database import PKBDatabase, Prepared
from ..schema.operators import among, contains, contains_any, in_order, unindexed
from ..schema.sqlite import all_of, fulltext_index, matches, of_user
from .base import Conditions

NEWEST_HITS = 500
"""Of a word that more rows hold, the newest so many are looked at."""

_ALL = 2**62
_NEWEST_UNSPACED = 20_000
_SHORTEST_STEM, _LONGEST_ENDING = 3, 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedTable:
    """A table with a full-text index.

    rowid: its integer key. number: the column that counts a user's rows upwards. body: the column whose length counts.
    columns: groups of indexed columns with the weight of a word found there, the weightiest first. in_sql: makes
    conditions over the table out of their names.
    """

    table: Table
    rowid: str
    number: str
    body: str
    columns: tuple[tuple[tuple[str, ...], float], ...]
    in_sql: Callable[[Conditions], list[ColumnElement[Any]]]

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
    """Which rows of a table are looked at: the user's, as far as the `conditions` let them through.

    values: parameters of the conditions. part: a text in lowercase that has to be somewhere in what is searched.
    owns_most: the user has at least half of all rows. Then it is cheaper to drop others' rows than not to look at them,
    so `newest` and `among`, which only look into the index, may give some of theirs; the rest gives the user's alone.
    """

    db: PKBDatabase
    table: SearchedTable
    user_email: str
    conditions: Conditions = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    part: str | None = None
    owns_most: bool = False

    def newest(self, expression: str) -> list[int]:
        """The newest rows that match an expression, whatever the conditions; newest first."""
        rows = self.db.rows(_matching(self.table), expression=self._own(expression), limit=NEWEST_HITS)
        return [rowid for (rowid,) in rows]

    def among(self, either: str, word: str) -> set[int]:
        """All rows that match both expressions, whatever the conditions."""
        expression = self._own(all_of([either, word]))
        return {rowid for (rowid,) in self.db.rows(_matching(self.table), expression=expression, limit=_ALL)}

    def rows(self, rowids: Sequence[int], *, beginning: str) -> Rows:
        """Those of `rowids` that the conditions let through; where `beginning` is decides about the weight."""
        if not rowids:
            return Rows()
        return self._rows(_named(self.table, self.conditions), beginning=beginning, rowids=json_list(rowids))

    def newest_rows(self, expression: str, *, beginning: str, limit: int = NEWEST_HITS) -> Rows:
        """The newest `limit` rows that match an expression and that the conditions let through."""
        statement = _newest(self.table, self.conditions, self.part is not None)
        return self._rows(statement, beginning=beginning, expression=self._own(expression), limit=limit)

    def containing(self, text: str) -> Searched:
        """Of these rows, those with `text`, in lowercase, anywhere in what is searched."""
        return replace(self, part=text)

    def newest_containing(self, pieces: Sequence[str]) -> Sequence[Sequence[Any]]:
        """(rowid, text) of the rows that contain any of `pieces`, among the user's newest 20,000."""
        given = {**self.values, "user": self.user_email, "pieces": json_list(pieces)}
        return self.db.rows(_unspaced(self.table, self.conditions), **given)

    def last_number(self) -> int:
        """The number of the user's newest row; 0 for none."""
        return self._number(_last_number(self.table), user=self.user_email)

    def last_rowid(self) -> int:
        """The key of the newest row of all; 0 for none."""
        return self._number(_last_rowid(self.table))

    def number_of(self, rowid: int) -> int:
        """The number of a row."""
        return self._number(_number_of(self.table), rowid=rowid)

    def _number(self, statement: Prepared, **given: Any) -> int:
        row = self.db.row(statement, **given)
        return int(row[0] or 0) if row else 0

    def _rows(self, statement: Prepared, **given: Any) -> Rows:
        found = self.db.rows(statement, user=self.user_email, part=self.part, **self.values, **given)
        return Rows({row[0]: row[1] for row in found}, {row[0]: row[2] for row in found})

    def _own(self, expression: str) -> str:
        owner = None if self.owns_most else self.user_email
        return of_user(expression, columns=self.table.all_columns, owner=owner)


@cache
def _matching(searched: SearchedTable) -> Prepared:
    index = fulltext_index(searched.table.name)
    query = select(index.c.rowid).where(matches(searched.table.name))
    return Prepared(query.order_by(index.c.rowid.desc()).limit(bindparam("limit")))


@cache
def _named(searched: SearchedTable, conditions: Conditions) -> Prepared:
    found = among(searched.table.c[searched.rowid], "rowids")
    return Prepared(_weighted(searched).where(found, *_own(searched), *searched.in_sql(conditions)))


@cache
def _newest(searched: SearchedTable, conditions: Conditions, has_part: bool) -> Prepared:
    index = fulltext_index(searched.table.name)
    joined = in_order(index, searched.table, searched.table.c[searched.rowid] == index.c.rowid)
    query = _weighted(searched).select_from(joined).where(matches(searched.table.name), *_own(searched))
    query = query.where(*searched.in_sql(conditions))
    if has_part:
        query = query.where(contains(func.lower(_joined(searched, searched.all_columns)), bindparam("part")))
    return Prepared(query.order_by(index.c.rowid.desc()).limit(bindparam("limit")))


@cache
def _unspaced(searched: SearchedTable, conditions: Conditions) -> Prepared:
    rows = searched.table.c
    text = _joined(searched, searched.columns[0][0]).label("text")
    newest = select(rows[searched.rowid].label("found"), text).where(rows.user_email == bindparam("user"))
    newest = newest.where(*searched.in_sql(conditions)).order_by(rows[searched.number].desc())
    some = newest.limit(literal_column(str(_NEWEST_UNSPACED))).subquery("newest")
    return Prepared(select(some.c.found, some.c.text).where(contains_any(some.c.text, "pieces")))


@cache
def _last_number(searched: SearchedTable) -> Prepared:
    rows = searched.table.c
    return Prepared(select(func.max(rows[searched.number])).where(rows.user_email == bindparam("user")))


@cache
def _last_rowid(searched: SearchedTable) -> Prepared:
    return Prepared(select(func.max(searched.table.c[searched.rowid])))


@cache
def _number_of(searched: SearchedTable) -> Prepared:
    rows = searched.table.c
    return Prepared(select(rows[searched.number]).where(rows[searched.rowid] == bindparam("rowid")))


def _own(searched: SearchedTable) -> list[ColumnElement[bool]]:
    # By the index that begins with the user, SQLite would walk through all of the user's rows.
    return [unindexed(searched.table.c.user_email) == bindparam("user")]


def _weighted(searched: SearchedTable) -> Select[Any]:
    """(rowid, length of the body, weight) of rows; the weight depends on where `:beginning` is."""
    *higher, (_, lowest) = searched.columns
    weight: ColumnElement[Any] = literal_column(str(lowest))
    if higher:
        found: list[Any] = [
            (contains(func.lower(_joined(searched, columns)), bindparam("beginning")), literal_column(str(value)))
            for columns, value in higher
        ]
        weight = case(*found, else_=weight)
    return select(searched.table.c[searched.rowid], func.length(searched.table.c[searched.body]), weight)


def _joined(searched: SearchedTable, columns: Sequence[str]) -> ColumnElement[Any]:
    """The texts of some columns, one behind the other."""
    nothing, space = literal_column("''", Text), literal_column("' '", Text)
    first, *others = (func.coalesce(searched.table.c[name], nothing) for name in columns)
    text: ColumnElement[Any] = first
    for other in others:
        text = text + space + other
    return text


def shortened(word: str) -> list[str]:
    """What the index may hold of a word that was typed in part: it keeps stems, such as "organ" of "organiz(ation)"."""
    return [word[:end] for end in range(max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING), len(word))]
