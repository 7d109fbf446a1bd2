"""Threads that block get a provider's embeddings as one array."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from aiohttp import web

from language_models import blocking
from language_models.errors import BadCredentialsError, ModelError, ModelFailedError, ModelUnavailableError
from language_models.openai.embeddings import ProviderEmbeddingModel
from language_models.openai.failures import RetryPolicy
from tests.language_models.openai.loopback import Handler, Loopback, answering, hang_up, in_one_piece, refusing


@pytest.fixture(autouse=True)
def _closed_afterwards() -> Iterator[None]:
    yield
    blocking.close()


async def lengths(request: web.Request) -> web.StreamResponse:
    """Embeds a text as (its length, 1), not normalised."""
    texts = (await request.json())["input"]
    rows = [{"index": number, "embedding": [len(text), 1]} for number, text in enumerate(texts)]
    return web.json_response({"data": rows})


def at(*handlers: Handler, do: Callable[[ProviderEmbeddingModel], Any]) -> tuple[Any, Loopback]:
    """What `do` makes of the model in a worker thread, and what its provider saw."""

    async def work() -> tuple[Any, Loopback]:
        async with answering(*handlers) as server:
            model = ProviderEmbeddingModel(
                base_url=server.url, api_key=None, model="vectors", retries=RetryPolicy(first_pause=0.001)
            )
            try:
                return await asyncio.to_thread(do, model), server
            finally:
                await model.aclose()

    return asyncio.run(work())


def inputs(server: Loopback) -> list[Sequence[str]]:
    return [body["input"] for body in server.bodies]


def test_vectors_come_as_one_array_in_order_and_of_length_one() -> None:
    vectors, server = at(lengths, do=lambda model: model.embed(["four", "", "eleven char"]))
    assert (vectors.shape, vectors.dtype) == ((3, 2), np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-6)
    assert vectors[:, 0] / vectors[:, 1] == pytest.approx([4, 1, 11], rel=1e-5)
    assert inputs(server) == [["four", " ", "eleven char"]]


def test_many_texts_go_in_batches_and_long_ones_are_cut() -> None:
    texts = [str(number) for number in range(130)] + ["x" * 20_000]
    vectors, server = at(lengths, do=lambda model: model.embed(texts))
    assert vectors.shape == (131, 2)
    assert [len(batch) for batch in inputs(server)] == [64, 64, 3]
    assert len(inputs(server)[-1][-1]) == 8_000


def test_no_texts_ask_nobody() -> None:
    vectors, server = at(lengths, do=lambda model: model.embed([]))
    assert (vectors.shape, server.bodies) == ((0, 0), [])


def test_how_long_vectors_are_is_asked_once() -> None:
    (numbers, empty), server = at(
        lengths, do=lambda model: ([model.dimensions, model.dimensions], model.embed([]).shape)
    )
    assert numbers == [2, 2]
    assert empty == (0, 2)
    assert len(server.bodies) == 1


def test_vectors_are_sorted_by_their_index() -> None:
    rows = [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]
    vectors, server = at(in_one_piece({"data": rows}), do=lambda model: model.embed(["one", "two"]))
    assert [list(vector) for vector in vectors] == [pytest.approx([0.6, 0.8]), [0.0, 1.0]]
    assert server.bodies == [{"model": "vectors", "input": ["one", "two"]}]


def test_without_indexes_vectors_are_in_the_order_of_the_texts() -> None:
    rows = [{"embedding": [3, 4]}, {"embedding": [0, 2]}]
    vectors, _ = at(in_one_piece({"data": rows}), do=lambda model: model.embed(["one", "two"]))
    assert [list(vector) for vector in vectors] == [pytest.approx([0.6, 0.8]), [0.0, 1.0]]


def test_a_vector_of_zeros_stays_one() -> None:
    vectors, _ = at(in_one_piece({"data": [{"index": 0, "embedding": [0, 0]}]}), do=lambda model: model.embed(["one"]))
    assert vectors.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize(
    ("handler", "kind"),
    [
        (in_one_piece({"data": [{"index": 0, "embedding": [1.0]}]}), ModelFailedError),
        (in_one_piece({"data": [{"index": 0}]}), ModelFailedError),
        (in_one_piece({"data": [{"index": 0, "embedding": 1.0}, {"index": 1, "embedding": 1.0}]}), ModelFailedError),
        (in_one_piece({"data": [{"embedding": []}, {"embedding": []}]}), ModelFailedError),
        (in_one_piece({"data": [[1.0], [2.0]]}), ModelFailedError),
        (in_one_piece([]), ModelFailedError),
        (refusing(200, "<html>"), ModelFailedError),
        (refusing(401), BadCredentialsError),
        (hang_up, ModelUnavailableError),
    ],
)
def test_an_answer_without_the_vectors_raises_a_typed_error(handler: Handler, kind: type[ModelError]) -> None:
    with pytest.raises(kind):
        at(handler, do=lambda model: model.embed(["one", "two"]))


def test_vectors_that_change_their_length_are_no_answer() -> None:
    uneven = in_one_piece({"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": [1, 2]}]})
    with pytest.raises(ModelFailedError, match="several lengths"):
        at(uneven, do=lambda model: model.embed(["a", "b"]))

    def twice(model: ProviderEmbeddingModel) -> None:
        model.embed(["a"])
        model.embed(["a"])

    longer = in_one_piece({"data": [{"index": 0, "embedding": [1, 2, 3]}]})
    with pytest.raises(ModelFailedError, match="several lengths"):
        at(lengths, longer, do=twice)


def test_a_request_that_broke_is_made_again() -> None:
    vectors, server = at(refusing(503), lengths, do=lambda model: model.embed(["four"]))
    assert vectors.shape == (1, 2)
    assert len(server.bodies) == 2


@pytest.mark.parametrize(("handler", "kind"), [(refusing(401), BadCredentialsError), (hang_up, ModelUnavailableError)])
def test_trouble_is_remembered_until_it_is_over(handler: Handler, kind: type[Exception]) -> None:
    def ask(model: ProviderEmbeddingModel) -> list[str]:
        phases = [model.state().phase]
        with pytest.raises(kind):
            model.embed(["four"])
        phases.append(model.state().phase)
        assert model.state().detail
        model.embed(["four"])
        return [*phases, model.state().phase]

    tries = 1 if kind is BadCredentialsError else 3
    phases, _ = at(*[handler] * tries, lengths, do=ask)
    assert phases == ["ready", "failed", "ready"]
