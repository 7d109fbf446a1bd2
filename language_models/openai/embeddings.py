"""An embedding model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from language_models import blocking
from language_models.errors import ModelError, ModelFailedError
from language_models.openai.client import ProviderHttp, Timeouts
from language_models.openai.failures import AttemptFailedError, RetryPolicy
from language_models.ports import EmbeddingModel, ModelState, forwarded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Limits that all known providers accept; the characters are for the script with the most tokens per character.
_LARGEST_BATCH = 64
_MOST_CHARACTERS = 8_000
_ATTEMPTS_TO_WAIT_FOR = 2


class ProviderEmbeddingModel(EmbeddingModel):
    """An `EmbeddingModel` over HTTP, for threads that may block."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | None,
        model: str,
        timeouts: Timeouts | None = None,
        retries: RetryPolicy | None = None,
    ) -> None:
        """`base_url` ends before `/embeddings`. A batch is given up after twice the seconds of one answer."""
        timeouts = timeouts or Timeouts()
        self._model = model
        self._http = ProviderHttp(base_url=base_url, api_key=api_key, model=model, timeouts=timeouts)
        self._batch_seconds = _ATTEMPTS_TO_WAIT_FOR * timeouts.answer
        self._retries = retries or RetryPolicy()
        self._dimensions: int | None = None

    name = forwarded("_model")

    @property
    def dimensions(self) -> int:
        """Length of each vector. Embeds a text if none was embedded yet; raises as `embed` does."""
        if self._dimensions is None:
            self.embed(["How long is a vector?"])
        assert self._dimensions is not None
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors, shape (len(texts), dimensions), of the first 8,000 characters of each text.

        Raises the errors of `language_models.errors`.
        """
        import numpy as np

        if not texts:
            return np.empty((0, self._dimensions or 0), dtype=np.float32)
        starts = range(0, len(texts), _LARGEST_BATCH)
        return np.concatenate([self._embed_batch(texts[start : start + _LARGEST_BATCH]) for start in starts])

    def state(self) -> ModelState:
        """Ready, or failed when the last request found no server or the key was refused."""
        return self._http.state()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    def _embed_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        # Providers refuse an empty text.
        body = {"model": self._model, "input": [text[:_MOST_CHARACTERS] or " " for text in texts]}
        try:
            answer = blocking.run(self._requested(body), timeout=self._batch_seconds)
        except ModelError as error:
            self._http.note_failure(error)
            raise
        self._http.note_success()
        vectors = self._vectors(answer, count=len(texts))
        self._dimensions = vectors.shape[1]
        return vectors

    async def _requested(self, body: dict[str, Any]) -> Any:
        attempt = 1
        while True:
            try:
                return await self._http.post_json("/embeddings", body)
            except AttemptFailedError as failure:
                pause = self._retries.pause_after(attempt, failure)
                if pause is None:
                    raise failure.error from failure
            await asyncio.sleep(pause)
            attempt += 1

    def _vectors(self, answer: Any, *, count: int) -> NDArray[np.float32]:
        import numpy as np

        try:
            # Without indexes, the rows are in the order of the texts.
            rows = sorted(enumerate(answer["data"]), key=lambda row: row[1].get("index", row[0]))
            vectors = [np.asarray(row["embedding"], dtype=np.float64) for _, row in rows]
            lengths = {len(vector) for vector in vectors} | ({self._dimensions} - {None})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelFailedError(f"{self._model} answered no embeddings", model=self._model) from error
        if len(vectors) != count:
            raise ModelFailedError(
                f"{self._model} answered {len(vectors)} vectors for {count} texts", model=self._model
            )
        if len(lengths) != 1 or 0 in lengths:
            raise ModelFailedError(f"{self._model} answered vectors of several lengths, or of none", model=self._model)
        stacked = np.stack(vectors)
        norms = np.linalg.norm(stacked, axis=1, keepdims=True)
        normalised: NDArray[np.float32] = (stacked / np.where(norms == 0, 1, norms)).astype(np.float32)
        return normalised
