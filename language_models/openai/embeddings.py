"""Chat and embedding models behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import math
from array import array
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from language_models import blocking
from language_models.errors import (
    BadCredentialsError,
    ModelError,
    ModelFailedError,
    ModelUnavailableError,
)
from language_models.openai.client import ProviderHttp, Timeouts
from language_models.openai.wire import (
    AttemptFailedError,
    RetryPolicy,
)
from language_models.ports import ModelState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class ProviderEmbeddingModel:
    """Embeddings over HTTP."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | None,
        model: str,
        timeouts: Timeouts | None = None,
        retries: RetryPolicy | None = None,
    ) -> None:
        """`base_url` ends before `/embeddings`."""
        self._model = model
        self._http = ProviderHttp(base_url=base_url, api_key=api_key, model=model, timeouts=timeouts or Timeouts())
        self._retries = retries or RetryPolicy()

    @property
    def name(self) -> str:
        """The model's name at the provider."""
        return self._model

    async def embed(self, texts: Sequence[str]) -> list[array[float]]:
        """One L2-normalised float32 vector for each text, in order."""
        answer = await self._answer({"model": self._model, "input": list(texts)})
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = [_normalised(row["embedding"]) for row in rows]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFailedError(f"{self._model} answered no embeddings", model=self._model) from error
        if len(vectors) != len(texts):
            message = f"{self._model} answered {len(vectors)} vectors for {len(texts)} texts"
            raise ModelFailedError(message, model=self._model)
        return vectors

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _answer(self, body: dict[str, Any]) -> Any:
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


def _normalised(vector: Sequence[float]) -> array[float]:
    length = math.sqrt(math.fsum(value * value for value in vector)) or 1.0
    return array("f", [value / length for value in vector])


# The least that known providers take at once, and of one text in the script that costs most tokens.
_LARGEST_BATCH = 64
_MOST_CHARACTERS = 8_000
_SECONDS_A_BATCH = 60.0


class BlockingEmbeddingModel:
    """See `language_models.ports.EmbeddingModel`."""

    def __init__(self, client: ProviderEmbeddingModel) -> None:
        self._client = client
        self._dimensions: int | None = None
        self._trouble = ""

    @property
    def name(self) -> str:
        """The model's name at the provider."""
        return self._client.name

    @property
    def dimensions(self) -> int:
        """Numbers in each vector. Asks the provider for one where none has been seen yet; raises as `embed` does."""
        if self._dimensions is None:
            self.embed(["How long is a vector?"])
        assert self._dimensions is not None
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors, shape (len(texts), dimensions); of a text the first 8,000 characters count.

        Raises the errors of `language_models.errors`.
        """
        import numpy as np

        if not texts:
            return np.empty((0, self._dimensions or 0), dtype=np.float32)
        starts = range(0, len(texts), _LARGEST_BATCH)
        return np.concatenate([self._embed_batch(texts[start : start + _LARGEST_BATCH]) for start in starts])

    def state(self) -> ModelState:
        """Ready, or failed when the last request found nobody or was refused its key."""
        if self._trouble:
            return ModelState(name=self.name, phase="failed", detail=self._trouble)
        return ModelState(name=self.name, phase="ready", progress=1.0)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    def _embed_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        # Providers refuse a text of nothing.
        asked = [text[:_MOST_CHARACTERS] or " " for text in texts]
        try:
            vectors = blocking.run(self._client.embed(asked), timeout=_SECONDS_A_BATCH)
        except ModelError as error:
            if isinstance(error, ModelUnavailableError | BadCredentialsError):
                self._trouble = error.message
            raise
        self._trouble = ""
        lengths = {len(vector) for vector in vectors} | ({self._dimensions} - {None})
        if len(lengths) != 1:
            raise ModelFailedError(f"{self.name} answered vectors of several lengths", model=self.name)
        self._dimensions = len(vectors[0])
        return np.stack([np.frombuffer(vector, dtype=np.float32) for vector in vectors])
