"""A provider's embeddings for threads that block: in batches, as one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from language_models import blocking
from language_models.errors import BadCredentialsError, ModelError, ModelFailedError, ModelUnavailableError
from language_models.ports import ModelState
from language_models.provider import ProviderEmbeddingModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
