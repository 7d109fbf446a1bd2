"""The interface of a language model: two protocols and the values they exchange."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NotRequired, Protocol, TypedDict, Unpack, cast

import orjson

from language_models.tokens import estimated_tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CUT = frozenset({"length", "content_filter"})
"""Finish reasons of answers that are not whole though nothing failed."""
Phase = Literal["none", "waiting", "fetching", "loading", "ready", "failed"]


class ChatMessage(TypedDict):
    """One message of a prompt, in the shape of the OpenAI chat-completions API.

    tool_calls: of an answer that calls tools. tool_call_id: of the result of a call, whose role is "tool". pictures: as
    `data:` URLs, for a model that sees them; on the wire they become parts of the content.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    tool_calls: NotRequired[Sequence[Mapping[str, Any]]]
    tool_call_id: NotRequired[str]
    pictures: NotRequired[Sequence[str]]


class ChatOptions(TypedDict, total=False):
    """Keyword arguments of a chat request. An option that is absent or None is left to the model.

    tools: the tools that the model may call, in the shape of the chat-completions API. tool_choice: "none" where it may
    not call them any more.
    response_format: see `json_format`; or `{"type": "regex", "pattern": …}`, which a model ignores that cannot be
    constrained by a regular expression.
    max_tokens: the most tokens of this answer; None: as many as the model can write.
    """

    tools: Sequence[Mapping[str, Any]] | None
    tool_choice: Literal["auto", "none"] | None
    response_format: Mapping[str, Any] | None
    max_tokens: int | None
    temperature: float | None
    stop: Sequence[str] | None


def json_format(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The `response_format` of an answer that is JSON of this JSON Schema."""
    return {"type": "json_schema", "json_schema": {"name": name, "schema": dict(schema)}}


def json_object(text: str) -> dict[str, Any]:
    """The JSON object that a model wrote, also within a code fence. Raises ValueError."""
    found = orjson.loads(text[text.find("{") : text.rfind("}") + 1])
    return dict(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token counts of one request, as reported by the model.

    cached_tokens: prompt tokens that were served from a cache. reasoning_tokens: completion tokens spent on thinking.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a provider asks, in `currency` ("USD"). read, written: for a million tokens of prompt and of answer."""

    read: float
    written: float
    currency: str

    def of(self, usage: Usage) -> float:
        """What a request cost, without discounts for what came from a cache."""
        return (usage.prompt_tokens * self.read + usage.completion_tokens * self.written) / 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One step of a streamed answer.

    text: appended to the answer; often one token, possibly empty.
    thinking: appended to what a reasoning model thinks before or between the words of its answer.
    status: a sentence for the waiting user ("The model is being fetched: 43 %"), or None; with the last step, one about
    the whole answer, which is kept.
    tool_calls: complete tool calls, in the shape of the chat-completions API; the model gets back what else they hold.
    usage, finish_reason ("stop", "length", "tool_calls", "content_filter"): sent with the last step, if at all.
    """

    text: str = ""
    thinking: str = ""
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

    phase: "none" (not configured), "waiting" (not requested yet), "fetching", "loading", "ready", "failed".
    progress: share of the download or load that is done, 0.0 to 1.0; None: unknown.
    detail: one sentence for a person; for "failed", what to do about it.
    """

    name: str
    phase: Phase
    progress: float | None = None
    detail: str = ""


_SLOW_READING = 300.0
"""Tokens a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Measured speed of a model on this machine or at its provider, in tokens per second; None: not measured yet.

    reading: of uncached prompt tokens. writing: of answer tokens. latency: seconds that a request takes beside both, as
    far as they are known.
    """

    reading: float | None = None
    writing: float | None = None
    latency: float = 0.0

    @property
    def is_slow(self) -> bool:
        """Whether the model reads like one on this machine's processor; False where that was not measured."""
        return self.reading is not None and self.reading < _SLOW_READING


class ChatModel(Protocol):
    """A model that continues a conversation.

    Every method raises the errors of `language_models.errors`; a stream raises where it breaks. Implementations inherit
    from this class: methods with a body here are what most models share.
    """

    @property
    def name(self) -> str:
        """The model's display name, e.g. "qwen2.5-coder-1.5b-instruct"."""

    @property
    def context_window(self) -> int:
        """The most tokens of prompt and answer together."""

    @property
    def answer_limit(self) -> int | None:
        """The most tokens that the model can write in one answer; None: unknown, or whatever the window leaves."""
        return None

    @property
    def price(self) -> Price | None:
        """What its answers cost; None: nothing, or unknown."""
        return None

    @property
    def calls_tools(self) -> bool | None:
        """Whether it calls the tools that a request offers; None: unknown."""
        return False

    @property
    def exact_temperature(self) -> float | None:
        """The temperature of an answer that is to say what was looked up for it, as it stands; None: the usual one."""
        return None

    @property
    def sees_pictures(self) -> bool:
        """Whether it is known to see the pictures of a prompt."""
        return False

    def count_tokens(self, text: str) -> int:
        """Tokens in `text`: by the model's tokenizer where there is one, else estimated from the characters."""
        return estimated_tokens(text)

    def state(self) -> ModelState:
        """Whether the model can answer now; never blocks."""

    def speed(self) -> Speed:
        """The model's speed in its latest requests; never blocks."""
        return Speed()

    def stream(self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]) -> AsyncIterator[Delta]:
        """Stream the answer. Closing the iterator, or cancelling its task, frees the model at once."""

    async def complete(self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]) -> Completion:
        """The whole answer."""
        return await collected(self.stream(messages, **options))

    async def aclose(self) -> None:
        """Close connections and child processes."""
        return


def forwarded(path: str) -> Any:
    """A property that is an attribute of something else: "_model.name"."""
    return property(attrgetter(path))


class ForwardingModel(ChatModel):
    """`model` with its name, limits and abilities; subclasses change what they are made for.

    `complete` is made of `stream`, so a subclass that looks at each stream sees every request.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    name = forwarded("_model.name")
    context_window = forwarded("_model.context_window")
    answer_limit = forwarded("_model.answer_limit")
    price = forwarded("_model.price")
    calls_tools = forwarded("_model.calls_tools")
    exact_temperature = forwarded("_model.exact_temperature")
    sees_pictures = forwarded("_model.sees_pictures")
    count_tokens = forwarded("_model.count_tokens")
    state = forwarded("_model.state")
    speed = forwarded("_model.speed")
    aclose = forwarded("_model.aclose")

    async def stream(
        self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Delta, None]:
        """See `ChatModel`."""
        answer = cast("AsyncGenerator[Delta, None]", self._model.stream(messages, **options))
        async with aclosing(answer) as deltas:
            async for delta in deltas:
                yield delta


class EmbeddingModel(Protocol):
    """A model that maps texts to vectors of which similar texts have near ones. Safe to use from several threads."""

    @property
    def name(self) -> str:
        """The model's display name, e.g. "all-minilm-l6-v2"; vectors of different models cannot be compared."""

    @property
    def dimensions(self) -> int:
        """Length of each vector; may embed a text to find out, and then raises like `embed`."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """L2-normalised vectors, shape (len(texts), dimensions), in the order of `texts`. Blocks.

        Raises ModelUnavailableError while the model's files are missing (it does not wait for a download), and the
        other errors of `language_models.errors`.
        """

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, without those that only begin and end it; estimated where it is unknown.

        Raises as `embed` does, where the model has to be loaded.
        """
        return [estimated_tokens(text) for text in texts]

    def state(self) -> ModelState:
        """Whether the model can embed now; never blocks."""


async def collected(stream: AsyncIterator[Delta]) -> Completion:
    """The texts of all steps joined, with the last usage and finish reason."""
    texts: list[str] = []
    usage = Usage()
    finish_reason = "stop"
    async for delta in stream:
        texts.append(delta.text)
        usage = delta.usage or usage
        finish_reason = delta.finish_reason or finish_reason
    return Completion(text="".join(texts), usage=usage, finish_reason=finish_reason)
