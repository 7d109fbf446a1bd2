"""Nobody waits for an embedding model that has just kept somebody waiting, or that is out of order."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from threading import Event

import pytest

from language_models import circuit_breaker
from language_models.circuit_breaker import begin, settled
from language_models.errors import ModelUnavailableError
from search.embedding import query_vector
from tests.search.thesaurus import Thesaurus


def test_while_a_request_is_late_further_ones_fail_at_once() -> None:
    model, begun, released = Thesaurus(), Event(), Event()

    def hang() -> bool:
        begun.set()
        return released.wait(60)

    late = begin(model, hang)
    assert begun.wait(60)
    asyncio.run(settled(model, late, within=0.01))
    with pytest.raises(TimeoutError):
        begin(model, model.embed, ["my car"]).result(0)
    released.set()
    assert late.result(60)
    assert begin(model, model.embed, ["my car"]).result(60).shape == (1, model.dimensions)


def test_what_is_waited_for_is_done_or_has_failed_afterwards() -> None:
    model = Thesaurus()

    def fails() -> None:
        raise ModelUnavailableError("Out of order")

    works: list[Future[object]] = [begin(model, model.embed, ["my car"]), begin(model, fails)]
    for work in works:
        asyncio.run(settled(model, work, within=60))
    assert [work.exception(0) is None for work in works] == [True, False]


def test_a_model_that_is_out_of_order_is_left_alone_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = Thesaurus(), list[str]()

    def fails(texts: list[str]) -> None:
        asked.extend(texts)
        raise ModelUnavailableError("Out of order")

    monkeypatch.setattr(model, "embed", fails)
    monkeypatch.setattr(circuit_breaker, "_PAUSE", 600.0)
    for query in ("car", "dog"):
        with pytest.raises(ModelUnavailableError):
            query_vector(model, query)
    monkeypatch.setattr(circuit_breaker, "_PAUSE", 0.0)
    with pytest.raises(ModelUnavailableError):
        query_vector(model, "dog")
    assert asked == ["car", "dog"]
