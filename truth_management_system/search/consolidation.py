"""Finding what was remembered twice: claims that say the same, entities that are one. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

_ROWS_AT_ONCE = 512
_MOST_PAIRS = 50_000
"""Comparing two names takes 30 µs."""
_KINDS_OF_CHARACTERS = 64
# A name that is part of another one is that one, most likely; the more of it, the likelier.
_PART_OF_A_NAME = 0.9


class NamedEntity(Protocol):
    """What is needed of an entity."""

    entity_id: str
    name: str


def cluster_near_duplicate_claims(
    pairs: Iterable[tuple[str, ArrayLike]], threshold: float = 0.92
) -> list[dict[str, Any]]:
    """Groups of claims whose vectors are alike, the most alike group first.

    pairs: (claim_id, vector); vectors need not be normalised. A group is what hangs together by cosine similarities of
    at least `threshold`: `{"claim_ids": [...], "max_similarity": float}`, ids in the order given.
    """
    import numpy as np

    given = list(pairs)
    if not given:
        return []
    vectors = np.array([vector for _, vector in given], dtype=np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths == 0, 1, lengths)
    groups = _Groups(len(given))
    for start in range(0, len(given), _ROWS_AT_ONCE):
        _join_alike(groups, vectors, start, threshold)
    return [
        {"claim_ids": [given[index][0] for index in members], "max_similarity": similarity}
        for members, similarity in groups.found()
    ]


def cluster_entity_variants(entities: Sequence[NamedEntity], threshold: float = 0.85) -> list[dict[str, Any]]:
    """Groups of entities whose names may mean one: `{"entity_ids", "suggested_keep_id", "max_similarity"}`.

    The one to keep is the one with the longest name, the first of equals. At most 50,000 pairs of names are compared,
    those first of which one has all words of the other, then those with the most characters in common.
    """
    groups = _Groups(len(entities))
    names = [_words(entity.name) for entity in entities]
    for first, second in [*_parts_of_each_other(names), *_with_common_characters(names, threshold)][:_MOST_PAIRS]:
        similarity = _similarity(names[first], names[second], threshold)
        if similarity >= threshold:
            groups.join(first, second, similarity)
    return [
        {
            "entity_ids": [entities[index].entity_id for index in members],
            "suggested_keep_id": max((entities[index] for index in members), key=lambda one: len(one.name)).entity_id,
            "max_similarity": similarity,
        }
        for members, similarity in groups.found()
    ]


def entity_name_similarity(a: str, b: str, threshold: float = 0.85) -> float:
    """How likely two names mean one, 0 to 1, whatever their case, accents and order.

    A name whose words are all in the other ("John" and "John Smith") comes to at least `threshold`.
    """
    return _similarity(_words(a), _words(b), threshold)


def _parts_of_each_other(names: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """Pairs of names of which one has all words of the other."""
    words = [set(name) for name in names]
    having: dict[str, list[int]] = {}
    for number, name in enumerate(words):
        for word in name:
            having.setdefault(word, []).append(number)
    pairs: dict[tuple[int, int], None] = {}
    for number, name in enumerate(words):
        seldom: list[int] = min((having[word] for word in name), key=len, default=[])
        for other in seldom:
            if other != number and name <= words[other]:
                pairs[min(number, other), max(number, other)] = None
    return list(pairs)


def _with_common_characters(names: Sequence[Sequence[str]], threshold: float) -> list[tuple[int, int]]:
    """Pairs of names with so many characters in common that their similarity may reach `threshold`, the most first."""
    import numpy as np

    texts = [" ".join(words) for words in names]
    lengths = np.array([len(text) for text in texts])
    counts = np.zeros((len(texts), _KINDS_OF_CHARACTERS), dtype=np.uint32)
    for number, text in enumerate(texts):
        for char in text:
            counts[number, ord(char) % _KINDS_OF_CHARACTERS] += 1
    found: list[tuple[float, int, int]] = []
    for first in range(len(texts)):
        common = np.minimum(counts[first], counts[first + 1 :]).sum(axis=1)
        bounds = 2.0 * common / np.maximum(lengths[first] + lengths[first + 1 :], 1)
        (later,) = np.nonzero(bounds >= threshold)
        found += [(-bounds[index], first, first + 1 + int(index)) for index in later]
    return [(first, second) for _, first, second in sorted(found)]


def _similarity(a: Sequence[str], b: Sequence[str], threshold: float) -> float:
    """Exact from `threshold` on; below, at most so much."""
    if not a or not b:
        return 0.0
    if a == b:
        return 1.0
    part_of = max(threshold, _PART_OF_A_NAME) if set(a) <= set(b) or set(b) <= set(a) else 0.0
    matcher = SequenceMatcher(None, " ".join(a), " ".join(b), autojunk=False)
    # The first bound is by length alone: most pairs end here.
    for bound in (matcher.real_quick_ratio, matcher.quick_ratio):
        if bound() < threshold:
            return max(part_of, bound())
    return max(part_of, matcher.ratio())


def _words(name: str) -> list[str]:
    """The words of a name, without case and accents, in alphabetical order."""
    plain = "".join(char for char in unicodedata.normalize("NFKD", name.casefold()) if not unicodedata.combining(char))
    return sorted("".join(char if char.isalnum() else " " for char in plain).split())


class _Groups:
    """What hangs together among the numbers below `count`."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))
        self._joined: list[tuple[int, float]] = []

    def join(self, first: int, second: int, similarity: float) -> None:
        self._parents[self._root(first)] = self._root(second)
        self._joined.append((first, similarity))

    def found(self) -> list[tuple[list[int], float]]:
        """(members in order, greatest similarity) of each group of several, the most alike first."""
        members: dict[int, list[int]] = {}
        for number in range(len(self._parents)):
            members.setdefault(self._root(number), []).append(number)
        greatest: dict[int, float] = {}
        for number, similarity in self._joined:
            root = self._root(number)
            greatest[root] = max(greatest.get(root, similarity), similarity)
        groups = [(members[root], similarity) for root, similarity in greatest.items()]
        return sorted(groups, key=lambda group: (-group[1], group[0]))

    def _root(self, number: int) -> int:
        while self._parents[number] != number:
            self._parents[number] = self._parents[self._parents[number]]
            number = self._parents[number]
        return number


def _join_alike(groups: _Groups, vectors: NDArray[np.float32], start: int, threshold: float) -> None:
    """Join some rows with all later ones that are alike."""
    import numpy as np

    similarities = vectors[start : start + _ROWS_AT_ONCE] @ vectors[start:].T
    for row, column in zip(*np.nonzero(similarities >= threshold), strict=True):
        if row < column:
            groups.join(start + int(row), start + int(column), min(1.0, float(similarities[row, column])))
