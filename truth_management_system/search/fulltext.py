"""Ranking by words: BM25 over what the full-text index says which rows hold which word.

FTS5's own `bm25()` counts each word among everybody's rows, so a common word would cost every user alike and other
people's texts would decide about one's order. Here the index is only asked for the user's newest rows with a word, and
the score is computed from those. Texts are short and say a word once, so how often they say it does not count.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import log
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Float,
    Select,
    Table,
    Text,
    bindparam,
    case,
    cast,
    func,
    literal_column,
    or_,
    select,
)

from ..crud.filters import Conditions
from ..database import PKBDatabase, Prepared
from ..schema.fulltext import Query, Search, all_of, any_of, beginning, fulltext_index, matches
from ..schema.fulltext import word as whole
from ..schema.operators import among, contains_any, contains_word, in_order, newest_first, unindexed
from .query_words import query_words, unspaced_pieces

NEWEST_HITS = 500
"""Of a word that more rows hold, the newest so many are looked at."""

_ALL = 2**62
_NEWEST_UNSPACED = 20_000
_LONGEST_REST = 6


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
    `newest` and `among`, which only look into the index, may give rows of others; the rest gives the user's alone.
    """

    db: PKBDatabase
    table: SearchedTable
    user_email: str
    conditions: Conditions = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    part: str | None = None

    def newest(self, query: Query) -> list[int]:
        """The newest rows that match a query, whatever the conditions; newest first."""
        rows = self.db.rows(_matching(self.table), search=self._own(query), limit=NEWEST_HITS)
        return [rowid for (rowid,) in rows]

    def among(self, either: Query, word: Query) -> set[int]:
        """All rows that match both queries, whatever the conditions."""
        search = self._own(all_of([either, word]))
        return {rowid for (rowid,) in self.db.rows(_matching(self.table), search=search, limit=_ALL)}

    def rows(self, rowids: Sequence[int], *, beginning: str) -> Rows:
        """Those of `rowids` that the conditions let through; where `beginning` is decides about the weight."""
        if not rowids:
            return Rows()
        return self._rows(_named(self.table, self.conditions), beginning=beginning, rowids=rowids)

    def newest_rows(self, query: Query, *, beginning: str, limit: int = NEWEST_HITS) -> Rows:
        """The newest `limit` rows that match a query and that the conditions let through."""
        statement = _newest(self.table, self.conditions, self.part is not None)
        return self._rows(statement, beginning=beginning, search=self._own(query), limit=limit)

    def containing(self, text: str) -> Searched:
        """Of these rows, those with `text`, in lowercase, anywhere in what is searched."""
        return replace(self, part=text)

    def newest_containing(self, pieces: Sequence[str]) -> Sequence[Sequence[Any]]:
        """(rowid, text) of the rows that contain any of `pieces`, among the user's newest 20,000."""
        given = {**self.values, "user": self.user_email, "pieces": pieces}
        return self.db.rows(_unspaced_rows(self.table, self.conditions), **given)

    def last_number(self) -> int:
        """The number of the user's newest row; 0 for none."""
        row = self.db.row(_last_number(self.table), user=self.user_email)
        assert row is not None
        return int(row[0] or 0)

    def number_of(self, rowid: int) -> int:
        """The number of a row; 0 where it is gone."""
        row = self.db.row(_number_of(self.table), key=rowid)
        return int(row[0] or 0) if row else 0

    def _rows(self, statement: Prepared, **given: Any) -> Rows:
        found = self.db.rows(statement, user=self.user_email, part=self.part, **self.values, **given)
        return Rows({row[0]: row[1] for row in found}, {row[0]: row[2] for row in found})

    def _own(self, query: Query) -> Search:
        return Search(query=query, columns=self.table.all_columns, owner=self.user_email)


@cache
def _matching(searched: SearchedTable) -> Prepared:
    index = fulltext_index(searched.table.name)
    query = select(index.c.rowid).where(matches(searched.table.name))
    return Prepared(query.order_by(newest_first(index.c.rowid)).limit(bindparam("limit")))


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
        query = query.where(_said_in(searched, searched.all_columns, "part"))
    return Prepared(query.order_by(newest_first(index.c.rowid)).limit(bindparam("limit")))


@cache
def _unspaced_rows(searched: SearchedTable, conditions: Conditions) -> Prepared:
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
def _number_of(searched: SearchedTable) -> Prepared:
    rows = searched.table.c
    return Prepared(select(rows[searched.number]).where(rows[searched.rowid] == bindparam("key")))


def _own(searched: SearchedTable) -> list[ColumnElement[bool]]:
    # By the index that begins with the user, SQLite would walk through all of the user's rows.
    return [unindexed(searched.table.c.user_email) == bindparam("user")]


def _weighted(searched: SearchedTable) -> Select[Any]:
    """(rowid, length of the body, weight) of rows; the weight depends on where `:beginning` is."""
    *higher, (_, lowest) = searched.columns
    weight: ColumnElement[Any] = literal_column(str(lowest))
    if higher:
        found: list[Any] = [
            (_said_in(searched, columns, "beginning"), literal_column(str(value))) for columns, value in higher
        ]
        weight = case(*found, else_=weight)
    length = func.length(searched.table.c[searched.body])
    return select(searched.table.c[searched.rowid], length, cast(weight, Float))


def _said_in(searched: SearchedTable, columns: Sequence[str], word: str) -> ColumnElement[bool]:
    """Whether one of some columns has the word that is bound to `word`."""
    nothing = literal_column("''", Text)
    texts = (func.coalesce(searched.table.c[name], nothing) for name in columns)
    return or_(*(contains_word(text, bindparam(word, type_=Text)) for text in texts))


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
    return [word[:end] for end in range(max(_SHORTEST_STEM, len(word) - _LONGEST_REST), len(word))]


_SATURATION, _LENGTH_SHARE = 1.2, 0.4
_BEGINNING_ONLY = 0.5
# A word that so many rows hold needs no longer words beside it.
_ENOUGH = 50
_FEWEST_APART = 100
_SHORTEST_BEGINNING = 2
_SHORTEST_STEM, _LONGEST_ENDING = 3, 3


@dataclass(frozen=True, slots=True)
class Match:
    """A row that was found. coverage: the share of what the query says that the row says, too, above 0, at most 1."""

    rowid: int
    score: float
    coverage: float


def best_matches(searched: Searched, query: str, k: int) -> list[Match]:
    """At most `k` rows with any word of `query`, best first, then newest.

    Rows with all words come before all others. A word is found in its inflections, and as the beginning of another
    word for half of its weight. Any text is a query; one without a word finds nothing.
    """
    with searched.db.snapshot():
        last = searched.last_number()
        words = [*_spaced(searched, query_words(query), last, k), *_unspaced(searched, unspaced_pieces(query), last)]
    scores = _scores(words)
    best = heapq.nlargest(k, scores.items(), key=lambda item: (item[1], item[0]))
    return [Match(rowid, score, _coverage(words, rowid)) for rowid, score in best]


@dataclass(slots=True)
class _Word:
    """A word that is looked for: where it is, and how much it says (the inverse document frequency of BM25)."""

    rows: Rows
    rarity: float


def _spaced(searched: Searched, words: Sequence[str], last_number: int, k: int) -> list[_Word]:
    most = max(NEWEST_HITS, k)
    newest = {word: searched.newest(whole(word)) for word in words}
    found = {}
    for word, rowids in newest.items():
        if len(rowids) < NEWEST_HITS:
            found[word] = _rare_word(searched, word, rowids, last_number, most)
        else:
            looked_at = last_number - searched.number_of(rowids[-1]) + 1
            found[word] = _Word(Rows(), _rarity(len(rowids), looked_at))
    rare = [word for word in words if found[word].rows.lengths]
    common = {word: found[word] for word in words if len(newest[word]) >= NEWEST_HITS}
    _find_together(searched, rare, common, most)
    _find_apart(searched, found, common, k)
    return list(found.values())


def _rare_word(searched: Searched, word: str, rowids: Sequence[int], last_number: int, most: int) -> _Word:
    """All rows with a word and, where they are few, those with words that begin with it."""
    rows = searched.rows(rowids, beginning=_beginning(word))
    if len(word) >= _SHORTEST_BEGINNING and len(rowids) < _ENOUGH:
        longer = searched.newest_rows(beginning(word), beginning=_beginning(word), limit=most)
        if not rows.lengths and not longer.lengths:
            longer = _with_word_in_part(searched, word)
        rows.add(longer.lengths, {rowid: weight * _BEGINNING_ONLY for rowid, weight in longer.weights.items()})
    return _Word(rows, _rarity(max(len(rowids), len(rows.lengths)), last_number))


def _with_word_in_part(searched: Searched, word: str) -> Rows:
    stems = shortened(word)
    either = any_of(map(whole, stems))
    return searched.containing(word).newest_rows(either, beginning=word) if stems else Rows()


def _find_together(searched: Searched, rare: Sequence[str], common: Mapping[str, _Word], most: int) -> None:
    """Where the common words are among the rows with rarer ones, and where all of them are."""
    if rare:
        either = any_of(map(whole, rare))
        for name, word in common.items():
            word.rows.add({}, dict.fromkeys(searched.among(either, whole(name)), 1.0))
    if len(common) > 1:
        together = searched.newest_rows(all_of(map(whole, common)), beginning="", limit=most)
        for word in common.values():
            word.rows.add(together.lengths, together.weights)


def _find_apart(searched: Searched, found: Mapping[str, _Word], common: Mapping[str, _Word], k: int) -> None:
    """Where fewer than `k` rows are found, the newest with a common word, those first that say the most.

    Where no conditions leave rows out, the first such word has enough.
    """
    for name, word in sorted(common.items(), key=lambda item: -item[1].rarity):
        if len(set[int]().union(*(each.rows.lengths for each in found.values()))) >= k:
            return
        newest = searched.newest_rows(whole(name), beginning=_beginning(name), limit=max(_FEWEST_APART, 2 * k))
        word.rows.add(newest.lengths, newest.weights)


def _unspaced(searched: Searched, pieces: Sequence[str], last_number: int) -> list[_Word]:
    if not pieces:
        return []
    found = searched.newest_containing(pieces)
    lengths = [{rowid: len(text) for rowid, text in found if piece in text} for piece in pieces]
    return [_Word(Rows(each, dict.fromkeys(each, 1.0)), _rarity(len(each), last_number)) for each in lengths]


def _scores(words: Sequence[_Word]) -> dict[int, float]:
    """Scores by rowid: BM25 over `words`, and as much again as can be reached where a row has them all."""
    lengths: dict[int, int] = {}
    for word in words:
        lengths |= word.rows.lengths
    usual = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    fixed, by_length = _SATURATION * (1 - _LENGTH_SHARE), _SATURATION * _LENGTH_SHARE / usual
    norms = {rowid: fixed + by_length * length for rowid, length in lengths.items()}
    scores = dict.fromkeys(lengths, 0.0)
    for word in words:
        factor = word.rarity * (_SATURATION + 1)
        for rowid, weight in word.rows.weights.items():
            if rowid in norms:
                scores[rowid] += factor * weight / (weight + norms[rowid])
    most = sum(word.rarity for word in words) * (_SATURATION + 1)
    for rowid in scores.keys() & _in_all(words):
        scores[rowid] += most
    return scores


def _in_all(words: Sequence[_Word]) -> set[int]:
    first, *others = [word.rows.weights.keys() for word in words] or [{}.keys()]
    return set(first).intersection(*others)


def _coverage(words: Sequence[_Word], rowid: int) -> float:
    covered = sum(word.rarity * word.rows.weights.get(rowid, 0.0) for word in words)
    return covered / sum(word.rarity for word in words)


def _rarity(count: int, total: int) -> float:
    return log(1 + (max(total - count, 0) + 0.5) / (count + 0.5))


def _beginning(word: str) -> str:
    """What a word most likely has in common with its inflections."""
    return word[: max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING)]
