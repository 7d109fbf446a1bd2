"""`python -m benchmarks questions [--histories FILE]`: recall@10 of each search, on both halves of the questions."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from tempfile import gettempdir
from typing import TYPE_CHECKING

import numpy as np

from language_models.ports import EmbeddingModel, ModelState

from ..figures import Figure
from ..measures.knowledge import packaged_model
from ..seeded import Bench
from . import recipes
from .generator import generated_histories
from .histories import History, Question, read_histories
from .product import ProductSearch, stored

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FIRST = 10
_RECIPES = {
    "plain BM25": recipes.plain_bm25,
    "plain rank fusion": recipes.plain_fusion,
    "the trial recipe": recipes.trial_recipe,
}


def questions(bench: Bench) -> Iterator[Figure]:
    """Share of the evidence among the first ten messages found, by each search: ours, and those to compare it with."""
    histories = read_histories(bench.histories) if bench.histories else generated_histories()
    model = CachedModel(packaged_model(bench))
    found: dict[str, dict[str, list[float]]] = {}
    for history in histories:
        with stored(history, model=model) as product:
            for name, ranked in _searches(history, product, model):
                for number, question in enumerate(history.questions):
                    shares = found.setdefault(name, {}).setdefault(question.split, [])
                    shares.append(recall(ranked(number), question))
    for name, halves in found.items():
        for split, shares in sorted(halves.items()):
            yield Figure(
                name=f"recall@{_FIRST} of {name}, {split} half", value=100 * mean(shares), unit="%", samples=len(shares)
            )


def recall(found: Sequence[str], question: Question) -> float:
    """The share of the evidence that is among the first ten of `found`, which are ids of messages."""
    return len(question.evidence & set(found[:_FIRST])) / len(question.evidence)


def _searches(
    history: History, product: ProductSearch, model: EmbeddingModel
) -> Iterator[tuple[str, Callable[[int], list[str]]]]:
    """(name, what finds the ids of messages for the question of this number), best first."""
    asked = [question.text for question in history.questions]
    yield "today's search, every word", lambda number: product.ask(asked[number], mode="words")
    prepared = recipes.prepare(history, history.questions, model=model)
    ids = [message.message_id for message in history.messages]
    for name, recipe in _RECIPES.items():
        yield name, partial(_first_by, recipe, prepared, ids)
    yield "the product's search", lambda number: product.ask(asked[number], mode="auto")


def _first_by(recipe: recipes.Recipe, prepared: recipes.Prepared, ids: Sequence[str], number: int) -> list[str]:
    scores = recipe(prepared, number)
    return [ids[place] for place in np.argsort(-scores, kind="stable")[:_FIRST]]


class CachedModel:
    """An embedding model whose vectors are kept in the temporary folder, since embedding takes most of the time."""

    def __init__(self, model: EmbeddingModel) -> None:
        self._model = model
        self._file = Path(gettempdir()) / f"anaphora-questions-{model.name}.npz"
        self._known: dict[str, NDArray[np.float32]] = {}
        if self._file.exists():
            with np.load(self._file) as kept:
                self._known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    count_tokens = EmbeddingModel.count_tokens

    @property
    def name(self) -> str:
        """See `EmbeddingModel`."""
        return self._model.name

    @property
    def dimensions(self) -> int:
        """See `EmbeddingModel`."""
        return self._model.dimensions

    def state(self) -> ModelState:
        """See `EmbeddingModel`."""
        return self._model.state()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `EmbeddingModel`."""
        keys = [hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        if missing:
            self._known.update(zip(missing, self._model.embed(list(missing.values())), strict=True))
            if len(missing) > 1:
                np.savez(self._file, keys=np.array(list(self._known)), vectors=np.array(list(self._known.values())))
        return np.array([self._known[key] for key in keys], dtype=np.float32)
