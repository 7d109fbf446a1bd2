"""Sentences to vectors: a tokenizer and an ONNX model, both loaded from files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS = 384
# The model was trained on no more; what is said behind them does not count.
_MOST_TOKENS = 256
# The tokenizer reads all of a text before it cuts. No language needs more characters for so many tokens.
_MOST_CHARACTERS = 64 * _MOST_TOKENS
_LARGEST_BATCH = 32
# Memory grows with texts × tokens², so long texts go in smaller batches.
_BATCH_TOKENS = 512
_MOST_THREADS = 2


class SentenceEncoder:
    """Mean of the last layer's token vectors, brought to length 1. Several threads may encode at once."""

    def __init__(self, *, model: Path, tokenizer: Path) -> None:
        """Load both files, for a few hundred milliseconds. Raises whatever the libraries raise for damaged ones."""
        import onnxruntime
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(_MOST_THREADS, os.cpu_count() or 1)
        # The server has other work: threads that wait sleep, and what a large batch took is given back.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors, shape (len(texts), DIMENSIONS), in the order of `texts`; any text has one."""
        import numpy as np

        tokens = [self._tokens(text) for text in texts]
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for batch in _batches([len(each) for each in tokens]):
            vectors[batch] = self._encoded([tokens[number] for number in batch])
        return vectors

    def _tokens(self, text: str) -> list[int]:
        # Half a surrogate pair is no text to the tokenizer.
        readable = text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        tokens: list[int] = self._tokenizer.encode(readable).ids
        return tokens

    def _encoded(self, tokens: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        import numpy as np

        longest = max(len(each) for each in tokens)
        ids = np.zeros((len(tokens), longest), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, each in enumerate(tokens):
            ids[row, : len(each)] = each
            mask[row, : len(each)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (layer,) = self._session.run(["last_hidden_state"], inputs)
        means = (layer * mask[:, :, np.newaxis]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        normalised: NDArray[np.float32] = (means / np.linalg.norm(means, axis=1, keepdims=True)).astype(np.float32)
        return normalised


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Numbers of texts, shortest first: texts of like length share a batch, so that little of it is padding."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == _LARGEST_BATCH or (len(batch) + 1) * lengths[number] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
