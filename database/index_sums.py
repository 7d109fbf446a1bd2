"""Comparing a full-text index with what it should hold, in little memory however large both are.

Each word at each place becomes a number; the numbers of a row are added up in one of many bins. Two indexes hold the
same where all bins are the same.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable

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
