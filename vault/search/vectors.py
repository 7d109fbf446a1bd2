"""What documents mean: vectors of their chunks, made behind, and the chunks nearest to a question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from database.engine.database import Database
from database.search.vectors import DOCUMENTS
from database.vault import chunks as store
from database.vault.chunks import StoredChunk, WaitingDocument
from language_models.ports import EmbeddingModel
from language_models.tokens import estimated_tokens
from search.embedding import Embedder, PendingVectors, usable
from search.vectors import SignCache, encoded
from vault.content.markdown import parsed

from .chunks import Chunk, cut

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DOCUMENTS_AT_ONCE = 4
_CHUNKS_AT_ONCE = 32
_NEAREST = 120


class DocumentVectors:
    """The vectors of one store's documents.

    model: called each time, since models come and go; None where none is configured.
    """

    def __init__(self, *, database: Database, model: Callable[[], EmbeddingModel | None]) -> None:
        self._database = database
        self._model = model
        self._cache = SignCache()
        self._pending = PendingVectors()

    def model(self) -> EmbeddingModel | None:
        """The model, if it can embed now."""
        return usable(self._model())

    def embed_pending(self, *, budget_seconds: float | None = None) -> int:
        """Cut documents that wait for it into chunks, and embed these; of how many documents.

        Begins no further document after `budget_seconds`. Vectors of another model are deleted first. Raises the
        errors of `language_models.errors` where the model can embed nothing, StoreError.
        """
        model = self.model()
        if model is None:
            return 0
        store.use_model(model.name, database=self._database)
        return self._pending.embed(model, self._embed_batch, budget_seconds=budget_seconds)

    def nearest(
        self, connection: Connection, *, user_email: str, model: EmbeddingModel, query: NDArray[np.float32]
    ) -> list[StoredChunk] | None:
        """The person's chunks nearest to `query`, roughly; None where none of this model's vectors are stored."""
        if not DOCUMENTS.is_current(connection, model.name):
            return None

        def read(after: int) -> Iterable[tuple[int, bytes]]:
            return store.codes_after(connection, user_email, after)

        def fetch(ids: list[int]) -> dict[int, StoredChunk]:
            return {chunk.chunk_id: chunk for chunk in store.chunks_with_ids(connection, user_email, ids)}

        chunks, _ = self._cache.nearest((user_email, model.name), query, read, fetch, _NEAREST)
        return list(chunks.values())

    def forget(self, user_email: str) -> None:
        """Drop what is kept in memory of a person's vectors."""
        self._cache.forget(user_email)

    def _embed_batch(self, embedder: Embedder) -> int:
        waiting = store.waiting_documents(database=self._database, most=_DOCUMENTS_AT_ONCE)
        for document in waiting:
            self._embed(document, embedder)
        return len(waiting)

    def _embed(self, document: WaitingDocument, embedder: Embedder) -> None:
        import numpy as np

        chunks = chunks_of_text(document.path, document.text, model=embedder.model)
        rows = list[tuple[int, int, bytes | None]]()
        for start in range(0, len(chunks), _CHUNKS_AT_ONCE):
            some = chunks[start : start + _CHUNKS_AT_ONCE]
            vectors = embedder.embed([chunk.embedded for chunk in some])
            for chunk, vector in zip(some, vectors, strict=True):
                codes = None if vector is None else encoded(vector[np.newaxis])[0]
                rows.append((chunk.line_start, chunk.line_end, codes))
        store.store_chunks(database=self._database, document=document, chunks=rows)


def chunks_of_text(path: str, text: str, *, model: EmbeddingModel | None) -> list[Chunk]:
    """The chunks of a document's text, by the model's tokens; without a model by an estimate."""
    document = parsed(path, text.encode("utf-8", "replace"), modified_ns=0)
    count = model.count_tokens if model is not None else _estimated
    return cut(document.text, document.headings, body_line=document.body_line, count=count)


def _estimated(texts: Sequence[str]) -> list[int]:
    return [estimated_tokens(text) for text in texts]
