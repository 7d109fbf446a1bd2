"""Ranking by words: BM25 over what the index says which rows hold which word.

FTS5's own `bm25()` counts each word among everybody's rows, so a common word would cost every user alike and other
people's texts would decide about one's order. Here the index is only asked for the user's newest rows with a word, and
the score is computed from those. Texts are short and say a word once, so how often they say it does not count.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log

from ..schema.sqlite import all_of, any_of, beginning
from ..schema.sqlite import word as whole
from . import searched_table
from .query_words import query_words, unspaced_pieces
from .searched_table import Rows, Searched, shortened

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
        searched = replace(searched, owns_most=2 * last >= searched.last_rowid())
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
    most = max(searched_table.NEWEST_HITS, k)
    newest = {word: searched.newest(whole(word)) for word in words}
    found = {}
    for word, rowids in newest.items():
        if len(rowids) < searched_table.NEWEST_HITS:
            found[word] = _rare_word(searched, word, rowids, last_number, most)
        else:
            looked_at = last_number - searched.number_of(rowids[-1]) + 1
            found[word] = _Word(Rows(), _rarity(len(rowids), looked_at))
    rare = [word for word in words if found[word].rows.lengths]
    common = {word: found[word] for word in words if len(newest[word]) >= searched_table.NEWEST_HITS}
    _find_together(searched, rare, common, most)
    if len(set[int]().union(*(word.rows.lengths for word in found.values()))) < k:
        _find_apart(searched, common, max(_FEWEST_APART, 2 * k))
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


def _find_apart(searched: Searched, common: Mapping[str, _Word], limit: int) -> None:
    """The newest rows with the common word that says the most."""
    if common:
        name, word = max(common.items(), key=lambda item: item[1].rarity)
        newest = searched.newest_rows(whole(name), beginning=_beginning(name), limit=limit)
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
