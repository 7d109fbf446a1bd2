"""The embedded embedding model: downloaded in the background, loaded by the first use, then shared by all threads."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from language_models.download import fetch
from language_models.download.catalogue import CatalogueEntry
from language_models.errors import ModelFailedError, ModelUnavailableError
from language_models.ports import EmbeddingModel, ModelState, Phase, forwarded

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)
_NOT_LOADED = "The embedding model is loaded when it is first needed."
# Every search requests the model: without a network, a download is not to be tried each time.
_RETRY_SECONDS = 300.0

DIMENSIONS = 384
# The context length that the model was trained with; later tokens are ignored.
_MOST_TOKENS = 256
# The tokenizer reads the whole text before it truncates. No script needs more characters for so many tokens.
_MOST_CHARACTERS = 64 * _MOST_TOKENS
_LARGEST_BATCH = 32
# Memory grows with texts × tokens², so batches of long texts are smaller.
_BATCH_TOKENS = 512
_MOST_THREADS = 2


class EmbeddedEmbeddingModel(EmbeddingModel):
    """An `EmbeddingModel` on onnxruntime, in this process."""

    def __init__(self, entry: CatalogueEntry, *, folder: Path) -> None:
        """`folder`: of the files of `entry`: the model and, as its one companion, the tokenizer."""
        self._entry = entry
        self._folder = folder
        self._encoder: SentenceEncoder | None = None
        self._state = ModelState(name=entry.name, phase="waiting", detail=_NOT_LOADED)
        self._fetcher: threading.Thread | None = None
        self._failed_at: float | None = None
        self._stop = threading.Event()
        # Two locks, so that `state` does not wait while the model is being loaded.
        self._lock = threading.RLock()
        self._loading = threading.Lock()

    name = forwarded("_entry.name")

    @property
    def dimensions(self) -> int:
        """Length of each vector."""
        return DIMENSIONS

    def start(self) -> None:
        """Begin to download missing files, unless that has begun or has just failed; returns at once."""
        with self._lock:
            is_fetching = self._fetcher is not None and self._fetcher.is_alive()
            has_just_failed = self._failed_at is not None and time.monotonic() - self._failed_at < _RETRY_SECONDS
            if is_fetching or has_just_failed or self._stop.is_set() or self._encoder is not None:
                return
            self._set_state("fetching", "The embedding model is being fetched.")
            self._fetcher = threading.Thread(target=self._fetch, name="embedding-model", daemon=True)
            self._fetcher.start()

    def state(self) -> ModelState:
        """Whether the model is loaded, being downloaded or loaded, or failed."""
        return self._state

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors, shape (len(texts), dimensions), of the first 256 tokens of each text.

        A sentence takes 3 to 13 ms. Raises ModelUnavailableError while files are missing: their download is started.
        """
        encoder = self._encoder or self._loaded()
        try:
            return encoder.encode(texts)
        except Exception as error:  # onnxruntime's and tokenizers' errors have no common base
            log.exception("texts could not be embedded")
            raise ModelFailedError(f"{self.name} could not embed: {error}", model=self.name) from error

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, by the model's tokenizer; of more than 254 only so many are counted."""
        return (self._encoder or self._loaded()).count(texts)

    async def aclose(self) -> None:
        """Stop a running download; what has arrived is kept."""
        with self._lock:
            self._stop.set()
            fetcher = self._fetcher
        if fetcher is not None:
            await asyncio.to_thread(fetcher.join, 10.0)

    def _loaded(self) -> SentenceEncoder:
        with self._loading:
            if self._encoder is None:
                self._check_files()
                self._set_state("loading", "The embedding model is being loaded.")
                self._encoder = self._load()
                self._set_state("ready", "")
            return self._encoder

    def _check_files(self) -> None:
        try:
            if fetch.is_whole(self._entry, folder=self._folder):
                return
        except OSError as error:
            raise self._unavailable(f"{self._folder} can't be read: {error.strerror or error}.") from error
        self.start()
        raise self._unavailable(self._state.detail)

    def _load(self) -> SentenceEncoder:
        model, tokenizer = (self._folder / part.file for part in (self._entry, *self._entry.companions))
        try:
            return SentenceEncoder(model=model, tokenizer=tokenizer)
        except ImportError as error:
            advice = f"Install it from requirements.txt, or set ANAPHORA_EMBEDDING_MODEL. ({error})"
            message = f"{self.name} needs a package that is not installed. {advice}"
        except Exception as error:  # onnxruntime's and tokenizers' errors have no common base
            log.exception("the embedding model could not be loaded")
            message = f"{model} can't be loaded: is there memory enough? ({error})"
        self._set_state("failed", message)
        raise self._unavailable(message)

    def _fetch(self) -> None:
        try:
            fetch.fetch(self._entry, folder=self._folder, progress=self._note_progress, cancelled=self._stop)
            self._set_state("waiting", _NOT_LOADED)
        except fetch.FetchCancelledError:
            return
        except ModelUnavailableError as error:
            self._fail(error.message)
        except Exception as error:  # the thread must not end without a state that says so
            log.exception("the embedding model could not be fetched")
            self._fail(f"The embedding model can't be fetched: {error}")

    def _fail(self, why: str) -> None:
        self._failed_at = time.monotonic()
        self._set_state("failed", why)

    def _note_progress(self, done: int, total: int) -> None:
        share = done / total
        self._set_state("fetching", f"The embedding model is being fetched: {int(100 * share)} %", share)

    def _set_state(self, phase: Phase, detail: str, progress: float | None = None) -> None:
        progress = 1.0 if phase == "ready" else progress
        with self._lock:
            # A download may end after another thread found the files complete and loaded them.
            if phase == "ready" or self._encoder is None:
                self._state = ModelState(name=self.name, phase=phase, progress=progress, detail=detail)

    def _unavailable(self, message: str) -> ModelUnavailableError:
        return ModelUnavailableError(message, model=self.name)


class SentenceEncoder:
    """The mean of the last layer's token vectors, L2-normalised. Safe to use from several threads."""

    def __init__(self, *, model: Path, tokenizer: Path) -> None:
        """Load both files, in a few hundred milliseconds. Raises the libraries' own errors."""
        import onnxruntime
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.no_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = min(_MOST_THREADS, os.cpu_count() or 1)
        # The server has other work: idle threads sleep instead of spinning, and memory of large batches is freed.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.enable_cpu_mem_arena = False
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors, shape (len(texts), DIMENSIONS), in the order of `texts`."""
        import numpy as np

        tokens = [self._tokens(text) for text in texts]
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for batch in _batches([len(each) for each in tokens]):
            vectors[batch] = self._encoded([tokens[number] for number in batch])
        return vectors

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, without the two that begin and end it."""
        return [len(self._tokens(text)) - 2 for text in texts]

    def _tokens(self, text: str) -> list[int]:
        # The tokenizer refuses lone surrogates.
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
    """Indexes of texts in batches, shortest first: similar lengths share a batch, so there is little padding."""
    batch: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) == _LARGEST_BATCH or (len(batch) + 1) * lengths[number] > _BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
