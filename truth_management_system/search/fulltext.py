"""Ranking by words: BM25 over what SQLite's FTS5 says which rows hold which word.

FTS5's own `bm25()` counts each word among everybody's rows, so a common word would cost every user alike and other
people's texts would decide about one's order. Here the index is only asked for the user's newest rows with a word, and
the score is computed from those. Texts are short and say a word once, so how often they say it does not count.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Any

from ..database import PKBDatabase
from .query_words import query_words, unspaced_pieces

NEWEST_HITS = 500
"""Of a word that more rows hold, the newest so many are looked at."""

_NEWEST_UNSPACED = 20_000
_SATURATION, _LENGTH_SHARE = 1.2, 0.4
_BEGINNING_ONLY = 0.5
# A word that so many rows hold needs no longer words beside it.
_ENOUGH = 50
_SHORTEST_BEGINNING = 2
_SHORTEST_STEM, _LONGEST_ENDING = 3, 3


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


def owned_expression(user_email: str, columns: Sequence[str], expression: str) -> str:
    """An expression of FTS5 as it is asked of one user's rows, in some of the columns."""
    return f'owner : "u{user_email.encode().hex()}" AND ({{{" ".join(columns)}}} : ({expression}))'


@dataclass(frozen=True, slots=True, kw_only=True)
class Searched:
    """Which rows of a table are looked at: the user's, as far as `conditions` (joined by AND) let them through."""

    db: PKBDatabase
    table: SearchedTable
    user_email: str
    conditions: Sequence[str] = ()
    parameters: Sequence[Any] = ()

    def newest_with(self, expression: str, *, beginning: str) -> WordHits:
        """The newest rows that match an expression of FTS5; what decides a row's weight is where `beginning` is."""
        name, rowid = self.table.name, self.table.rowid
        weight, values = self._weight(beginning)
        sql = (
            f"SELECT {name}.{rowid}, length({name}.{self.table.body}), {weight}, {name}.{self.table.number} "
            f"FROM {name}_fts CROSS JOIN {name} ON {name}.{rowid} = {name}_fts.rowid "
            f"WHERE {name}_fts MATCH ? AND {self._where()} ORDER BY {name}_fts.rowid DESC LIMIT ?"
        )
        values += [self._own(expression), *self._values(), NEWEST_HITS]
        hits = WordHits()
        for found, length, counts, number in self.db.select(sql, values):
            hits.lengths[found] = length
            hits.weights[found] = counts
            hits.oldest = number
        return hits

    def rowids_with(self, expression: str) -> set[int]:
        """All rows of the user's that match an expression, whatever the conditions."""
        sql = f"SELECT rowid FROM {self.table.name}_fts WHERE {self.table.name}_fts MATCH ?"
        return {rowid for (rowid,) in self.db.select(sql, [self._own(expression)])}

    def newest_containing(self, pieces: Sequence[str]) -> Sequence[Sequence[Any]]:
        """(rowid, text) of the rows that contain any of `pieces`, among the user's newest 20,000."""
        name, rowid = self.table.name, self.table.rowid
        newest = (
            f"SELECT {name}.{rowid} AS found, {self._joined(self.table.columns[0][0])} AS text FROM {name} "
            f"WHERE {' AND '.join([f'{name}.user_email = ?', *self.conditions])} "
            f"ORDER BY {name}.{self.table.number} DESC LIMIT {_NEWEST_UNSPACED}"
        )
        anywhere = " OR ".join("instr(text, ?) > 0" for _ in pieces)
        return self.db.select(f"SELECT found, text FROM ({newest}) WHERE {anywhere}", [*self._values(), *pieces])

    def last_number(self) -> int:
        """The number of the user's newest row; 0 for none."""
        sql = f"SELECT COALESCE(MAX({self.table.number}), 0) FROM {self.table.name} WHERE user_email = ?"
        return int(self.db.select(sql, [self.user_email])[0][0])

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

    def _own(self, expression: str) -> str:
        return owned_expression(self.user_email, self.table.all_columns, expression)

    def _where(self) -> str:
        # The plus keeps SQLite from walking through all of the user's rows by the index that begins with them.
        return " AND ".join([f"+{self.table.name}.user_email = ?", *self.conditions])

    def _values(self) -> list[Any]:
        return [self.user_email, *self.parameters]


@dataclass(slots=True)
class WordHits:
    """The rows with one word.

    lengths: rowid → characters. weights: rowid → how much the word counts there, 0 to 1. oldest: the number of the
    oldest row that was looked at.
    """

    lengths: dict[int, int] = field(default_factory=dict)
    weights: dict[int, float] = field(default_factory=dict)
    oldest: int = 0

    def add(self, lengths: Mapping[int, int], weights: Mapping[int, float]) -> None:
        """Add further rows; what is known of one already stays."""
        self.lengths = {**lengths, **self.lengths}
        self.weights = {**weights, **self.weights}

    @property
    def is_common(self) -> bool:
        """Whether there are more rows with it than were looked at."""
        return len(self.lengths) >= NEWEST_HITS

    def share(self, last_number: int) -> float:
        """About which share of the user's rows has the word, above 0, below 1; judged by the newest rows."""
        looked_at = last_number - self.oldest + 1 if self.is_common else last_number
        return (len(self.lengths) + 0.5) / (max(looked_at, len(self.lengths)) + 1)


@dataclass(frozen=True, slots=True)
class _Word:
    """A word that is looked for: how much it says, and where it is."""

    rarity: float
    hits: WordHits


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
        words = [*_spaced(searched, query_words(query), last), *_unspaced(searched, unspaced_pieces(query), last)]
    scores = _scores(words)
    best = heapq.nlargest(k, scores.items(), key=lambda item: (item[1], item[0]))
    return [Match(rowid, score, _coverage(words, rowid)) for rowid, score in best]


def _coverage(words: Sequence[_Word], rowid: int) -> float:
    covered = sum(word.rarity * word.hits.weights.get(rowid, 0.0) for word in words)
    return covered / sum(word.rarity for word in words)


def _spaced(searched: Searched, words: Sequence[str], last_number: int) -> list[_Word]:
    hits = {word: searched.newest_with(_whole(word), beginning=_beginning(word)) for word in words}
    rare = [word for word in words if not hits[word].is_common]
    common = [word for word in words if hits[word].is_common]
    for word in rare:
        _add_longer_words(searched, word, hits[word])
    found = [_Word(_rarity(hits[word].share(last_number)), hits[word]) for word in words]
    _complete(searched, [word for word in rare if hits[word].lengths], {word: hits[word] for word in common})
    return found


def _add_longer_words(searched: Searched, word: str, hits: WordHits) -> None:
    """Rows with words that begin with `word`, unless enough have the word itself."""
    if len(word) < _SHORTEST_BEGINNING or len(hits.lengths) >= _ENOUGH:
        return
    longer = searched.newest_with(f"{_whole(word)} *", beginning=_beginning(word))
    weights = {rowid: weight * _BEGINNING_ONLY for rowid, weight in longer.weights.items()}
    hits.add(longer.lengths, weights)


def _complete(searched: Searched, rare: Sequence[str], common: Mapping[str, WordHits]) -> None:
    """Learn which older rows with rarer words, and with all common words, have each common one."""
    if len(common) > 1:
        together = searched.newest_with(" AND ".join(map(_whole, common)), beginning=_beginning(next(iter(common))))
        for hits in common.values():
            hits.add(together.lengths, together.weights)
    if rare:
        either = " OR ".join(map(_whole, rare))
        for word, hits in common.items():
            within = searched.rowids_with(f"({either}) AND {_whole(word)}")
            hits.add({}, dict.fromkeys(within, 1.0))


def _unspaced(searched: Searched, pieces: Sequence[str], last_number: int) -> list[_Word]:
    if not pieces:
        return []
    found = searched.newest_containing(pieces)
    lengths = [{rowid: len(text) for rowid, text in found if piece in text} for piece in pieces]
    hits = [WordHits(each, dict.fromkeys(each, 1.0)) for each in lengths]
    return [_Word(_rarity(each.share(last_number)), each) for each in hits]


def _scores(words: Sequence[_Word]) -> dict[int, float]:
    """Scores by rowid: BM25 over `words`, and as much again as can be reached where a row has them all."""
    lengths: dict[int, int] = {}
    for word in words:
        lengths |= word.hits.lengths
    usual = sum(lengths.values()) / max(1, len(lengths)) or 1.0
    fixed, by_length = _SATURATION * (1 - _LENGTH_SHARE), _SATURATION * _LENGTH_SHARE / usual
    norms = {rowid: fixed + by_length * length for rowid, length in lengths.items()}
    scores = dict.fromkeys(lengths, 0.0)
    for word in words:
        factor = word.rarity * (_SATURATION + 1)
        for rowid, weight in word.hits.weights.items():
            if rowid in norms:
                scores[rowid] += factor * weight / (weight + norms[rowid])
    most = sum(word.rarity for word in words) * (_SATURATION + 1)
    for rowid in scores.keys() & _in_all(words):
        scores[rowid] += most
    return scores


def _in_all(words: Sequence[_Word]) -> set[int]:
    first, *others = [set(word.hits.weights) for word in words] or [set()]
    return first.intersection(*others)


def _rarity(share: float) -> float:
    """The inverse document frequency of BM25."""
    return log(1 + (1 - share) / share)


def _whole(word: str) -> str:
    return f'"{word}"'


def _beginning(word: str) -> str:
    """What a word most likely has in common with its inflections."""
    return word[: max(_SHORTEST_STEM, len(word) - _LONGEST_ENDING)]
