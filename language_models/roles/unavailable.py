"""Models that cannot be used: each request raises an error that says what to do."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Literal, NoReturn, Unpack

from language_models.errors import ModelError
from language_models.ports import ChatMessage, ChatModel, ChatOptions, Delta, EmbeddingModel, ModelState

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _Unavailable:
    def __init__(
        self, *, name: str, advice: str, error: type[ModelError], phase: Literal["none", "failed"] = "none"
    ) -> None:
        """`advice` is one sentence for a person: what is missing and where to set it."""
        self._name = name
        self._advice = advice
        self._error = error
        self._phase = phase

    @property
    def name(self) -> str:
        """The name of the model that would be here."""
        return self._name

    def state(self) -> ModelState:
        """Not configured, or failed; the detail says what to do."""
        return ModelState(name=self._name, phase=self._phase, detail=self._advice)

    def _no_steps(self) -> Sequence[Delta]:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise self._error(self._advice, model=self._name)


class UnavailableChatModel(_Unavailable, ChatModel):
    """A chat model that is not configured, or lacks a key."""

    context_window = 8192

    async def stream(
        self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Delta, None]:
        """Raise the error where the first step would be."""
        for step in self._no_steps():
            yield step


class UnavailableEmbeddingModel(_Unavailable, EmbeddingModel):
    """An embedding model that lacks a key."""

    @property
    def dimensions(self) -> int:
        """Raises the error."""
        self._refuse()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raise the error."""
        self._refuse()
