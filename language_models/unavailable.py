"""A model that is not there: it says so, and what to do about it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from language_models.errors import ModelError
from language_models.ports import ChatMessage, Completion, Delta, ModelState, Speed
from language_models.tokens import estimated_tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class UnavailableChatModel:
    """Stands where no model can be; every request raises the same kind of error."""

    context_window = 8192
    answer_limit = None

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

    def count_tokens(self, text: str) -> int:
        """Characters / 3, rounded up."""
        return estimated_tokens(text)

    def state(self) -> ModelState:
        """Not configured, or failed; the detail says what to do."""
        return ModelState(name=self._name, phase=self._phase, detail=self._advice)

    def speed(self) -> Speed:
        """Nothing was ever measured."""
        return Speed()

    async def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
    ) -> AsyncGenerator[Delta, None]:
        """Raise the error where the first step would be."""
        no_steps: tuple[Delta, ...] = ()
        for step in no_steps:
            yield step
        raise self._error(self._advice, model=self._name)

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        response_format: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
    ) -> Completion:
        """Raise the error."""
        raise self._error(self._advice, model=self._name)

    async def aclose(self) -> None:
        """Nothing is open."""


class UnavailableEmbeddingModel:
    """Stands where a provider's key is missing; every request raises the same kind of error."""

    def __init__(self, *, name: str, advice: str, error: type[ModelError]) -> None:
        """`advice` is one sentence for a person: what is missing and where to set it."""
        self._name = name
        self._advice = advice
        self._error = error

    @property
    def name(self) -> str:
        """The name of the model that would be here."""
        return self._name

    @property
    def dimensions(self) -> int:
        """Raises the error."""
        raise self._error(self._advice, model=self._name)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Raise the error."""
        raise self._error(self._advice, model=self._name)

    def state(self) -> ModelState:
        """Failed; the detail says what to do."""
        return ModelState(name=self._name, phase="failed", detail=self._advice)

    async def aclose(self) -> None:
        """Nothing is open."""
