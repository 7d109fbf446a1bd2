"""Names that were nearly typed: by the trigrams that two names share, then by how little has to be edited."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import SequenceMatcher

_ALIKE = 0.65
_SHARED = 0.3


def nearest_names(typed: str, names: Iterable[str], *, most: int) -> list[str]:
    """At most `most` of `names` that are spelled much like `typed`, nearest first, whatever the case."""
    sought = typed.lower()
    likely = (name for name in dict.fromkeys(names) if _shared(sought, name.lower()) >= _SHARED)
    scored = [(SequenceMatcher(None, sought, name.lower(), autojunk=False).ratio(), name) for name in likely]
    alike = sorted((-ratio, name) for ratio, name in scored if ratio >= _ALIKE)
    return [name for _, name in alike[:most]]


def beginnings(typed: str) -> list[str]:
    """Beginnings of words of a misspelled name by which others may be looked up: of two and of four characters."""
    words = [word for word in typed.lower().split("_") if len(word) > 1]
    return list(dict.fromkeys([*(word[:4] for word in words), *(word[:2] for word in words[:1])]))


def _shared(one: str, other: str) -> float:
    """The share of trigrams that two names have in common (Dice's coefficient)."""
    mine, theirs = _trigrams(one), _trigrams(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs))


def _trigrams(text: str) -> set[str]:
    padded = f"  {text} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}
