"""Vectors of texts in four bits a number, and the nearest of one person's to a query.

A vector of 384 numbers takes 192 bytes in the store. Of a person who searches, only the signs of the numbers are kept
in memory (48 bytes a vector): they choose some thousand candidates, whose stored codes are then compared.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LEVELS = 8
_PEOPLE = 4
_AT_ONCE = 1 << 16
# Of a list one in so many may be gone; a list with more is made again, so many times at most.
_FEW = 8
_ROUNDS = 4

Row = TypeVar("Row")


def encoded(vectors: NDArray[np.float32]) -> list[bytes]:
    """The codes of each of `vectors`, shape (n, dimensions): two numbers a byte, the largest of a vector at the end."""
    import numpy as np

    if vectors.shape[1] % 2:
        vectors = np.pad(vectors, ((0, 0), (0, 1)))
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    steps = np.floor(vectors / np.maximum(largest, 1e-12) * _LEVELS) + _LEVELS
    codes = np.clip(steps, 0, 2 * _LEVELS - 1).astype(np.uint8)
    return [row.tobytes() for row in codes[:, 0::2] << 4 | codes[:, 1::2]]


def decoded(codes: Sequence[bytes]) -> NDArray[np.float32]:
    """The vectors that `codes` stand for, nearly, shape (n, dimensions), of length 1."""
    import numpy as np

    packed = np.frombuffer(b"".join(codes), dtype=np.uint8).reshape(len(codes), -1)
    vectors = np.empty((packed.shape[0], 2 * packed.shape[1]), dtype=np.float32)
    vectors[:, 0::2] = packed >> 4
    vectors[:, 1::2] = packed & 0x0F
    vectors -= _LEVELS - 0.5
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def fitted(query: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """`query` as long as decoded vectors are, which have an even number of dimensions."""
    import numpy as np

    return np.pad(query, (0, dimensions - len(query))) if len(query) < dimensions else query[:dimensions]


def signs(packed: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Which numbers of each row of codes are positive, one bit each, shape (64-bit words, rows)."""
    import numpy as np

    high, low = np.packbits(packed >> 7, axis=1), np.packbits((packed >> 3) & 1, axis=1)
    bits = np.concatenate([high, low], axis=1)
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % 8)))
    return np.ascontiguousarray(padded.view(np.uint64).T)


class _Signs(NamedTuple):
    """Vectors by id, and their signs: shape (words, vectors)."""

    ids: NDArray[np.int64]
    bits: NDArray[np.uint64]


class SignCache:
    """The signs of the vectors of the people who searched last, read on from the store at each search."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._people: OrderedDict[tuple[str, str], _Signs] = OrderedDict()

    def nearest(
        self,
        owner: tuple[str, str],
        query: NDArray[np.float32],
        read: Callable[[int], Iterable[tuple[int, bytes]]],
        fetch: Callable[[list[int]], Mapping[int, Row]],
        most: int,
    ) -> tuple[Mapping[int, Row], int]:
        """The vectors whose signs agree best with those of `query`: `most` and a few more; how many there are.

        owner: whose, and of which model. read: (id, codes) of the owner's vectors with a larger id, by id. fetch: of
        the vectors with these ids those that are still there, by id; others may be there as well.
        """
        for _ in range(_ROUNDS):
            ids, total = self._shortlist(owner, query, read, most)
            found = fetch(ids)
            if len(ids) - sum(each in found for each in ids) <= len(ids) // _FEW:
                return found, total
            # What was deleted or replaced would keep others out of the list.
            self._forget_gone(owner, ids, found)
        self._keep(owner, None)
        ids, total = self._shortlist(owner, query, read, most)
        return fetch(ids), total

    def _shortlist(
        self,
        owner: tuple[str, str],
        query: NDArray[np.float32],
        read: Callable[[int], Iterable[tuple[int, bytes]]],
        most: int,
    ) -> tuple[list[int], int]:
        import numpy as np

        known = self._current(owner, read)
        if len(known.ids) <= most:
            return known.ids.tolist(), len(known.ids)
        (code,) = encoded(query[np.newaxis])
        sought = signs(np.frombuffer(code, dtype=np.uint8)[np.newaxis])[:, 0]
        distances = np.zeros(len(known.ids), dtype=np.uint16)
        for start in range(0, len(distances), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            for word, bits in zip(sought, known.bits, strict=True):
                distances[part] += np.bitwise_count(bits[part] ^ word)
        # Counting is faster than sorting: only so many distances are possible.
        farthest = int(np.searchsorted(np.cumsum(np.bincount(distances)), most))
        return known.ids[distances <= farthest][-2 * most :].tolist(), len(known.ids)

    def forget(self, user_email: str) -> None:
        """Drop what is kept of a person."""
        with self._lock:
            for owner in [owner for owner in self._people if owner[0] == user_email]:
                del self._people[owner]

    def _current(self, owner: tuple[str, str], read: Callable[[int], Iterable[tuple[int, bytes]]]) -> _Signs:
        import numpy as np

        with self._lock:
            known = self._people.get(owner)
        came = _read(read(int(known.ids[-1]) if known is not None else 0))
        if known is not None and came is not None:
            known = _Signs(np.concatenate([known.ids, came.ids]), np.concatenate([known.bits, came.bits], axis=1))
        known = known or came
        if known is None:
            return _Signs(np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.uint64))
        self._keep(owner, known)
        return known

    def _forget_gone(self, owner: tuple[str, str], ids: list[int], found: Mapping[int, Row]) -> None:
        """Drop those of `ids` that are deleted; newer ones may only not be visible in this transaction yet."""
        import numpy as np

        newest = max(found, default=0)
        gone = [each for each in ids if each not in found and each < newest]
        with self._lock:
            known = self._people.get(owner)
        if known is not None:
            stays = ~np.isin(known.ids, gone)
            self._keep(owner, _Signs(known.ids[stays], known.bits[:, stays]) if gone else None)

    def _keep(self, owner: tuple[str, str], signs: _Signs | None) -> None:
        """Remember the signs of an owner; None: read them anew next time."""
        with self._lock:
            self._people.pop(owner, None)
            if signs is not None:
                self._people[owner] = signs
            while len(self._people) > _PEOPLE:
                self._people.popitem(last=False)


def _read(rows: Iterable[tuple[int, bytes]]) -> _Signs | None:
    """The signs of stored codes, cut out chunk by chunk; None of no rows."""
    import numpy as np

    ids: list[int] = []
    bits: list[NDArray[np.uint64]] = []
    rows = iter(rows)
    while chunk := list(islice(rows, _AT_ONCE)):
        ids += [vector_id for vector_id, _ in chunk]
        packed = np.frombuffer(b"".join(codes for _, codes in chunk), dtype=np.uint8)
        bits.append(signs(packed.reshape(len(chunk), -1)))
    return _Signs(np.array(ids, dtype=np.int64), np.concatenate(bits, axis=1)) if ids else None
