"""Vectors in four bits a number keep their order, and the nearest are found by their signs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from search.vectors import SignCache, decoded, encoded, fitted

OWNER = ("ann@example.org", "model")


def _unit(random: np.random.Generator, count: int, dimensions: int = 384) -> NDArray[np.float32]:
    vectors = random.standard_normal((count, dimensions)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_vector_takes_half_a_byte_a_number_and_hardly_turns() -> None:
    vectors = _unit(np.random.default_rng(1), 50)
    codes = encoded(vectors)
    assert {len(code) for code in codes} == {192}
    assert (np.vecdot(decoded(codes), vectors) > 0.98).all()


def test_an_odd_number_of_dimensions_is_padded() -> None:
    vectors = _unit(np.random.default_rng(1), 3, dimensions=7)
    back = decoded(encoded(vectors))
    assert back.shape == (3, 8)
    assert np.vecdot(back, np.array([fitted(vector, 8) for vector in vectors])).min() > 0.9


def those_of(codes: Iterable[tuple[int, bytes]]) -> Callable[[list[int]], dict[int, bytes]]:
    """Fetches those of some vectors that are in a store."""
    stored = dict(codes)
    return lambda ids: {number: stored[number] for number in ids if number in stored}


def test_the_nearest_are_among_those_whose_signs_agree() -> None:
    random = np.random.default_rng(2)
    query = _unit(random, 1)[0]
    vectors = _unit(random, 5_000)
    near = query + 0.5 * _unit(random, 20)
    vectors[100:120] = near / np.linalg.norm(near, axis=1, keepdims=True)
    codes = list(enumerate(encoded(vectors), start=1))
    cache = SignCache()
    found, total = cache.nearest(OWNER, query, lambda after: codes[after:], those_of(codes), 200)
    assert 200 <= len(found) < 300
    assert total == 5_000
    assert set(range(101, 121)) <= set(found)


def test_only_what_came_later_is_read_again_until_the_person_is_forgotten() -> None:
    codes = list(enumerate(encoded(_unit(np.random.default_rng(3), 10)), start=1))
    query = decoded([codes[0][1]])[0]
    reads: list[int] = []

    def read(after: int) -> Iterable[tuple[int, bytes]]:
        reads.append(after)
        return codes[after:known]

    cache, known = SignCache(), 6
    assert cache.nearest(OWNER, query, read, those_of(codes), 100)[1] == 6
    known = 10
    assert cache.nearest(OWNER, query, read, those_of(codes), 100)[1] == 10
    cache.forget(OWNER[0])
    assert cache.nearest(OWNER, query, read, those_of(codes), 100)[1] == 10
    assert reads == [0, 6, 0]


def test_who_has_no_vectors_finds_none() -> None:
    assert SignCache().nearest(OWNER, np.ones(384, dtype=np.float32), lambda _after: [], those_of([]), 10)[1] == 0


def test_what_was_deleted_keeps_nothing_out_of_the_list() -> None:
    random = np.random.default_rng(4)
    query = _unit(random, 1)[0]
    near = query + 0.9 * _unit(random, 3_000)
    vectors = np.concatenate([query + _unit(random, 300), _unit(random, 3_000), near])
    codes = list(enumerate(encoded(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)), start=1))
    reads: list[int] = []

    def read(after: int) -> Iterable[tuple[int, bytes]]:
        reads.append(after)
        return [each for each in left if each[0] > after]

    cache, left = SignCache(), codes
    first, _ = cache.nearest(OWNER, query, read, those_of(left), 500)
    assert max(first) > 3_300
    left = [each for each in codes if each[0] <= 3_300]
    found, _ = cache.nearest(OWNER, query, read, those_of(left), 500)
    assert set(range(1, 301)) <= set(found)
    # A few are dropped alone: nothing is read again for them.
    left = left[:10] + left[100:]
    before = len(reads)
    assert len(cache.nearest(OWNER, query, read, those_of(left), 500)[0]) >= 500
    assert 0 not in reads[before:]


def test_what_a_transaction_does_not_see_yet_stays_for_those_that_do() -> None:
    random = np.random.default_rng(5)
    query = _unit(random, 1)[0]
    vectors = query + _unit(random, 40)
    codes = list(enumerate(encoded(vectors / np.linalg.norm(vectors, axis=1, keepdims=True)), start=1))
    cache = SignCache()

    def ask(seen: list[tuple[int, bytes]]) -> set[int]:
        return set(cache.nearest(OWNER, query, lambda after: seen[after:], those_of(seen), 10)[0])

    everything = ask(codes)
    assert ask(codes[:20]) <= set(range(1, 21))
    assert ask(codes) == everything
