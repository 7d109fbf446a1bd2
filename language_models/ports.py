"""What the rest of the product knows of a language model: two protocols and the values they exchange."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Phase = Literal["none", "waiting", "fetching", "loading", "ready", "failed"]


class ChatMessage(TypedDict):
    """One message of a prompt, in the shape of the OpenAI chat-completions interface."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that one call cost, as the model counted them.

    cached_tokens: those of the prompt that were not read again. reasoning_tokens: those of the completion that were
    spent on thinking.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One step of a streamed answer.

    text: what to append to the answer, often a token, possibly empty.
    status: a sentence for the person who waits ("The model is being fetched: 43 %"), or None.
    tool_calls: complete tool calls, in the provider's shape.
    usage and finish_reason ("stop", "length", "tool_calls") come with the last step, if at all.
    """

    text: str = ""
    status: str | None = None
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    usage: Usage | None = None
    finish_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A whole answer, for callers that do not stream."""

    text: str
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelState:
    """Whether a model can answer now.

    phase: "none" (not configured), "waiting" (not asked for yet), "fetching", "loading", "ready", "failed".
    progress: share of the download or load that is done, 0.0 to 1.0, or None where it is not known.
    detail: one sentence for a person; for "failed" it says what to do.
    """

    name: str
    phase: Phase
    progress: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Measured speed of a model on this machine or at its provider, in tokens per second; None: not measured yet.

    reading: of a prompt that is not cached. writing: of an answer.
    """

    reading: float | None = None
    writing: float | None = None


class ChatModel(Protocol):
    """A model that continues a conversation.

    Every method raises the errors of `language_models.errors`; a stream raises at the point where it breaks.
    """

    @property
    def name(self) -> str:
        """What people call it, e.g. "qwen2.5-coder-1.5b-instruct"."""
        ...

    @property
    def context_window(self) -> int:
        """How many tokens prompt and answer may have together."""
        ...

    @property
    def answer_limit(self) -> int | None:
        """The most tokens that the model itself can write in one answer; None: not known, or what the window leaves."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens in `text`: by the model's tokenizer where it is at hand, else characters / 3 rounded up."""
        ...

    def state(self) -> ModelState:
        """Whether the model can answer now; cheap, never blocks."""
        ...

    def speed(self) -> Speed:
        """How fast the model has been lately; cheap, never blocks."""
        ...

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
    ) -> AsyncIterator[Delta]:
        """The answer, step by step. Closing the iterator, or cancelling its task, frees the model at once.

        max_tokens: the most tokens of this answer; None: as many as the model itself can write.
        response_format: `{"type": "json_schema", "json_schema": {"name", "schema"}}`, or
        `{"type": "regex", "pattern": …}` where the model can be constrained so (others ignore the latter).
        """
        ...

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        response_format: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
    ) -> Completion:
        """The whole answer at once."""
        ...

    async def aclose(self) -> None:
        """Free connections and child processes."""
        ...


class EmbeddingModel(Protocol):
    """A model that places texts in a space where near means alike. Any thread may use it, several at once."""

    @property
    def name(self) -> str:
        """What people call it, e.g. "all-minilm-l6-v2"; vectors of different names do not compare."""
        ...

    @property
    def dimensions(self) -> int:
        """Numbers in each vector; may ask the provider for one, and then raises like `embed`."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors, shape (len(texts), dimensions), in the order of `texts`. Blocks.

        Raises ModelUnavailableError while the model is not there (it does not wait for a download), and the other
        errors of `language_models.errors`.
        """
        ...

    def state(self) -> ModelState:
        """Whether the model can embed now; cheap, never blocks."""
        ...


async def collected(stream: AsyncIterator[Delta]) -> Completion:
    """The text of all steps joined, with the usage and finish reason that came last."""
    texts: list[str] = []
    usage = Usage()
    finish_reason = "stop"
    async for delta in stream:
        texts.append(delta.text)
        usage = delta.usage or usage
        finish_reason = delta.finish_reason or finish_reason
    return Completion(text="".join(texts), usage=usage, finish_reason=finish_reason)
