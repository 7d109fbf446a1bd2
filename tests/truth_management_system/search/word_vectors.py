"""An embedding model for tests: texts that share words are near, and so are those that share a meaning it was told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from language_models.errors import ModelError
from language_models.ports import ModelState


class WordVectors:
    """See `language_models.ports.EmbeddingModel`. meanings: word → the word that it counts as."""

    def __init__(self, meanings: Mapping[str, str] | None = None, *, name: str = "words", dimensions: int = 64) -> None:
        self.name = name
        self.dimensions = dimensions
        self.meanings = dict(meanings or {})
        self.embedded: list[str] = []
        self.fails_with: ModelError | None = None

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.fails_with is not None:
            raise self.fails_with
        self.embedded += texts
        vectors = np.array([self._vector(text) for text in texts], dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def state(self) -> ModelState:
        return ModelState(name=self.name, phase="ready")

    def _vector(self, text: str) -> NDArray[np.float64]:
        words = re.findall(r"\w+", text.lower()) or [""]
        return np.sum([self._direction(self.meanings.get(word, word)) for word in words], axis=0)

    def _direction(self, word: str) -> NDArray[np.float64]:
        return np.random.default_rng(crc32(word.encode("utf-8", "replace"))).standard_normal(self.dimensions)
