"""Asking an embedding model: about queries, and about texts of which it may refuse some."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from language_models import circuit_breaker
from language_models.errors import (
    BadCredentialsError,
    ContextTooLongError,
    ModelError,
    ModelRateLimitedError,
    ModelUnavailableError,
)
from language_models.ports import EmbeddingModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)
_HARMLESS = "What is known?"
_SHORTEST_TEXT = 200
_USABLE = frozenset({"waiting", "ready"})
_QUERIES = 128
_WINDOW = 900
_MOST_WINDOWS = 8
_BREAK = re.compile(r"\n\s*\n|\n|(?<=[.!?。！？])\s+|\s+")
"""Where a long text may be cut; the first kind that is found counts."""

_last_queries: WeakKeyDictionary[EmbeddingModel, OrderedDict[bytes, NDArray[np.float32]]] = WeakKeyDictionary()
_lock = threading.Lock()


def windows(text: str) -> list[str]:
    """`text` in pieces that a small model reads whole, cut at paragraphs, lines, sentences or words; at most eight."""
    pieces, rest = list[str](), text.strip()
    while len(rest) > _WINDOW and len(pieces) < _MOST_WINDOWS - 1:
        cut = max((found.end() for found in _BREAK.finditer(rest, _WINDOW // 2, _WINDOW)), default=_WINDOW)
        pieces.append(rest[:cut].strip())
        rest = rest[cut:]
    return [piece for piece in (*pieces, rest[:_WINDOW].strip()) if piece]


def query_vector(model: EmbeddingModel, text: str) -> NDArray[np.float32]:
    """The vector of a query, L2-normalised; see `query_vectors`."""
    (vector,) = query_vectors(model, [text])
    return vector


def query_vectors(model: EmbeddingModel, texts: Sequence[str]) -> list[NDArray[np.float32]]:
    """The vectors of queries, L2-normalised; those of the last queries of each model are remembered.

    A turn asks the same of memories and of messages, and a page of results is followed by the next. Raises the errors
    of `language_models.errors`, at once where the model was found to be out of order a few seconds ago.
    """
    keys = [_digest(text) for text in texts]
    with _lock:
        known = _last_queries.setdefault(model, OrderedDict())
        found = {key: known[key] for key in keys if key in known}
    if missing := {key: text for key, text in zip(keys, texts, strict=True) if key not in found}:
        found |= zip(missing, _embedded(model, list(missing.values())), strict=True)
    with _lock:
        for key in keys:
            known[key] = found[key]
            known.move_to_end(key)
        while len(known) > _QUERIES:
            known.popitem(last=False)
    return [found[key] for key in keys]


def _embedded(model: EmbeddingModel, queries: Sequence[str]) -> NDArray[np.float32]:
    circuit_breaker.check(model)
    try:
        vectors = model.embed(queries)
    except ModelError as error:
        circuit_breaker.note(model, error)
        raise
    vectors.setflags(write=False)
    return vectors


class Embedder:
    """Embeds batches of texts; a text that the model refuses is passed over and never sent again by this object."""

    def __init__(self, model: EmbeddingModel) -> None:
        self.model = model
        self._refused: set[bytes] = set()
        self._failed_once: set[bytes] = set()

    def embed(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """The vector of each text, L2-normalised; None for a text that the model refuses.

        A provider that fails gets one more chance before single texts are suspected. Raises the errors of
        `language_models.errors` where the model can embed nothing at all.
        """
        wanted = [text for text in texts if _digest(text) not in self._refused]
        vectors = dict(zip(wanted, self._vectors(wanted), strict=True)) if wanted else {}
        return [vectors.get(text) for text in texts]

    def _vectors(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        batch = _digest("\0".join(texts))
        try:
            return self._embed(texts, suspects=batch in self._failed_once)
        except ModelUnavailableError:
            self._failed_once.add(batch)
            raise

    def _embed(self, texts: Sequence[str], *, suspects: bool) -> list[NDArray[np.float32] | None]:
        """suspects: whether a provider that seems to be out of order may only have stumbled over a text."""
        try:
            return [self._finite(vector, text) for vector, text in zip(self._asked(texts), texts, strict=True)]
        except (ModelRateLimitedError, BadCredentialsError):
            raise
        except ModelError as error:
            if isinstance(error, ModelUnavailableError) and not suspects:
                raise
            if len(texts) == 1 or isinstance(error, ModelUnavailableError):
                # Some servers answer 500 for a text that they can't embed. One that can embed nothing is out of order.
                self.model.embed([_HARMLESS])
            if len(texts) == 1:
                self._refuse(texts[0], error.message)
                return [None]
            middle = len(texts) // 2
            halves = (texts[:middle], texts[middle:])
            return [vector for half in halves for vector in self._embed(half, suspects=suspects)]

    def _asked(self, texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            return self.model.embed(texts)
        except ContextTooLongError:
            longest = max(map(len, texts)) // 2
            if longest < _SHORTEST_TEXT:
                raise
            return self._asked([text[:longest] for text in texts])

    def _finite(self, vector: NDArray[np.float32], text: str) -> NDArray[np.float32] | None:
        import numpy as np

        if np.isfinite(vector).all():
            return vector
        self._refuse(text, "its vector holds something that is no number")
        return None

    def _refuse(self, text: str, why: str) -> None:
        self._refused.add(_digest(text))
        log.warning("%s can't embed a text of %d characters: %s", self.model.name, len(text), why)


class PendingVectors:
    """Makes missing vectors in batches, by one `Embedder` for as long as the model stays the same."""

    def __init__(self) -> None:
        self._embedder: Embedder | None = None

    def embed(
        self, model: EmbeddingModel, embed_batch: Callable[[Embedder], int], *, budget_seconds: float | None
    ) -> int:
        """Call `embed_batch` until nothing is left; how many items it embedded.

        embed_batch: returns how many items it embedded; 0 where none is left. No further batch begins after
        `budget_seconds`.
        """
        deadline = None if budget_seconds is None else time.monotonic() + budget_seconds
        if self._embedder is None or self._embedder.model is not model:
            self._embedder = Embedder(model)
        embedded = 0
        while count := embed_batch(self._embedder):
            embedded += count
            if deadline is not None and time.monotonic() >= deadline:
                break
        return embedded


def usable(model: EmbeddingModel | None) -> EmbeddingModel | None:
    """The model, if it can embed now; one that is loaded when first needed is loaded by the next request."""
    return model if model is not None and model.state().phase in _USABLE else None


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
