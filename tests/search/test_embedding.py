"""Vectors of queries are remembered, a few of each model; missing vectors are made in batches."""

from __future__ import annotations

import numpy as np
import pytest

from language_models.errors import ModelFailedError
from search import embedding
from search.embedding import Embedder, PendingVectors, query_vector
from tests.search.thesaurus import Thesaurus


def test_a_query_is_embedded_once_by_each_model() -> None:
    first, second = Thesaurus("first"), Thesaurus("second")
    for model in (first, second, first):
        assert np.array_equal(query_vector(model, "my car"), model.embed(["my car"])[0])
    assert (first.embedded, second.embedded) == (["my car"] * 3, ["my car"] * 2)


def test_the_queries_asked_last_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "_QUERIES", 2)
    model = Thesaurus()
    for query in ("car", "dog", "car", "bread", "car", "dog"):
        query_vector(model, query)
    assert model.embedded == ["car", "dog", "bread", "dog"]


def test_a_query_that_failed_is_asked_again() -> None:
    model = Thesaurus()
    model.refuses = "car"
    with pytest.raises(ModelFailedError):
        query_vector(model, "car")
    model.refuses = ""
    assert query_vector(model, "car").shape == (model.dimensions,)


def test_batches_are_embedded_until_none_is_left_or_the_budget_is_spent() -> None:
    model, sizes = Thesaurus(), [3, 2, 0, 4]
    assert PendingVectors().embed(model, lambda _: sizes.pop(0), budget_seconds=None) == 5
    assert sizes == [4]
    sizes = [3, 2, 0]
    assert PendingVectors().embed(model, lambda _: sizes.pop(0), budget_seconds=0) == 3
    assert sizes == [2, 0]


def test_batches_share_an_embedder_until_the_model_changes() -> None:
    first, second = Thesaurus("first"), Thesaurus("second")
    pending, used = PendingVectors(), list[Embedder]()

    def batch(embedder: Embedder) -> int:
        used.append(embedder)
        return 0

    for model in (first, first, second):
        pending.embed(model, batch, budget_seconds=None)
    assert [embedder.model for embedder in used] == [first, first, second]
    assert used[0] is used[1]
