"""Vectors of queries are remembered, a few of each model."""

from __future__ import annotations

import numpy as np
import pytest

from language_models.errors import ModelFailedError
from search import embedding
from search.embedding import query_vector
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
