"""What passages of files mean: vectors made behind the uploads, and the passages nearest to a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from database.engine.database import Database
from database.search import passages as store
from database.search.vectors import FILES
from language_models.ports import EmbeddingModel
from search.embedding import Embedder, PendingVectors, windows
from search.vectors import SignCache, decoded, encoded, fitted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PASSAGES_AT_ONCE = 8
_NEAREST = 160


class PassageVectors:
    """The vectors of the passages of one store's files."""

    def __init__(self, *, database: Database, model: Callable[[], EmbeddingModel | None]) -> None:
        """model: called each time; None while no model can embed."""
        self._database = database
        self._model = model
        self._cache = SignCache()
        self._pending = PendingVectors()

    def embed_pending(self, *, budget_seconds: float | None = None) -> int:
        """Make vectors that are missing, oldest passages first; of how many passages.

        Begins no further batch after `budget_seconds`. Vectors of another model are deleted first. Raises the
        errors of `language_models.errors` where the model can embed nothing; what was made before stays.
        """
        model = self._model()
        if model is None:
            return 0
        store.use_model(model.name, database=self._database)
        return self._pending.embed(model, self._embed_batch, budget_seconds=budget_seconds)

    def _embed_batch(self, embedder: Embedder) -> int:
        waiting = store.waiting_for_vectors(database=self._database, most=_PASSAGES_AT_ONCE)
        if waiting:
            store.store_vectors(self._made(waiting, embedder), database=self._database)
        return len(waiting)

    @staticmethod
    def _made(waiting: Iterable[tuple[int, str, str]], embedder: Embedder) -> dict[int, list[bytes]]:
        """The vectors of each passage, one a window; none of what the model refuses."""
        import numpy as np

        pieces = [(number, piece) for number, _, text in waiting for piece in windows(text)]
        made: dict[int, list[bytes]] = {number: [] for number, _, _ in waiting}
        for (number, _), vector in zip(pieces, embedder.embed([piece for _, piece in pieces]), strict=True):
            if vector is not None:
                made[number] += encoded(np.asarray(vector)[np.newaxis])
        return made

    def similarities(
        self,
        connection: Connection,
        *,
        user_email: str,
        model: EmbeddingModel,
        query: NDArray[np.float32],
        passages: Iterable[int],
    ) -> dict[int, float]:
        """The cosines of the person's passages nearest to `query`, roughly, and of `passages`, by id.

        Of several vectors of one passage the nearest counts.
        """
        import numpy as np

        if not FILES.is_current(connection, model.name):
            return {}

        def read(after: int) -> Iterable[tuple[int, bytes]]:
            return store.codes_after(connection, user_email, after)

        asked = list(passages)

        def fetch(ids: list[int]) -> dict[int, tuple[int, bytes]]:
            return store.vectors_with(connection, user_email, ids=ids, passages=asked)

        found, _ = self._cache.nearest((user_email, model.name), query, read, fetch, _NEAREST)
        if not found:
            return {}
        vectors = decoded([codes for _, codes in found.values()])
        cosines = np.vecdot(vectors, fitted(query, vectors.shape[1])).tolist()
        nearest: dict[int, float] = {}
        for (number, _), cosine in zip(found.values(), cosines, strict=True):
            nearest[number] = max(cosine, nearest.get(number, cosine))
        return nearest

    def forget(self, user_email: str) -> None:
        """Drop what is kept in memory of a person's vectors."""
        self._cache.forget(user_email)
