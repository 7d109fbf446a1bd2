"""An embedding model that knows a few words of like meaning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from language_models.errors import ModelFailedError
from language_models.ports import EmbeddingModel, ModelState

# A word of a line means what the other words of it mean; all others mean nothing.
MEANINGS = (
    {"car", "vehicle", "automobile"},
    {"doctor", "physician"},
    {"bread", "loaf", "sourdough"},
    {"holiday", "vacation"},
    {"dog", "puppy"},
    {"lawyer", "attorney"},
)


class Thesaurus:
    """A model for which words of like meaning are alike; the last number tells all texts a little apart."""

    name, dimensions = "thesaurus", len(MEANINGS) + 9
    count_tokens = EmbeddingModel.count_tokens

    def __init__(self, name: str = "thesaurus") -> None:
        self.name = name
        self.phase = "ready"
        self.embedded: list[str] = []
        self.refuses = ""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.refuses and any(self.refuses in text for text in texts):
            raise ModelFailedError("No.", model=self.name)
        self.embedded += texts
        vectors = np.array([self._vector(text) for text in texts], dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def _vector(self, text: str) -> list[float]:
        said = {word.strip(".,?!:").lower() for word in text.split()}
        noise = [0.0] * 8
        noise[sum(map(ord, text)) % 8] = 0.3
        return [*(3.0 * bool(said & meaning) for meaning in MEANINGS), *noise, 0.5]

    def state(self) -> ModelState:
        return ModelState(name=self.name, phase=self.phase)  # type: ignore[arg-type]
