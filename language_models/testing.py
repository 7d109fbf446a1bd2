"""A chat model that follows a script, for tests and benchmarks. Never a default.

A reply is a sequence of steps, played in order:

    ScriptedChatModel.saying("Hello ", "world")
    ScriptedChatModel.failing(ModelFailedError("broke off"), after=["Hel"])
    ScriptedChatModel.hanging("Once upon ")
    ScriptedChatModel(replies=[Reply("first"), Reply("second", Pause(0.05), "half", ModelFailedError("gone"))])
    ScriptedChatModel(replies=lambda prompt: Reply(prompt[-1]["content"]))
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Unpack

from language_models.errors import ModelError
from language_models.ports import (
    ChatMessage,
    ChatModel,
    ChatOptions,
    Delta,
    ModelState,
    Price,
    Speed,
    Usage,
    forwarded,
)
from language_models.tokens import estimated_tokens


class Hold:
    """A gate at which coroutines of any event loop wait until any thread opens it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._released = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._reached = threading.Event()

    async def wait(self) -> None:
        """Wait for `release`; returns at once after it."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        with self._lock:
            self._reached.set()
            if self._released:
                return
            self._waiting.append((loop, future))
        await future

    def release(self) -> None:
        """Open the gate for good."""
        with self._lock:
            self._released = True
            waiting, self._waiting = self._waiting, []
        for loop, future in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, future)

    def wait_until_reached(self, timeout: float = 60.0) -> bool:
        """Block the calling thread until a coroutine waits, at most `timeout` seconds; whether one does."""
        return self._reached.wait(timeout)


def calling(*calls: tuple[str, str]) -> Delta:
    """A step that calls tools: a name and the arguments as JSON for each."""
    made = [
        {"id": f"call_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(calls, 1)
    ]
    return Delta(tool_calls=tuple(made), finish_reason="tool_calls")


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for so many seconds."""

    seconds: float


Prompt = tuple[ChatMessage, ...]
Step = str | Delta | Pause | Hold | ModelError


class Reply:
    """One scripted answer: texts and deltas are streamed, pauses and holds awaited, errors raised."""

    def __init__(
        self,
        *steps: Step,
        delay: float = 0.0,
        fail_after: int | None = None,
        error: ModelError | None = None,
        finish_reason: str = "stop",
        usage: Usage | None = None,
    ) -> None:
        """`delay`: seconds before each step. `error` is raised after the steps, or after the first `fail_after`."""
        self.steps: Iterable[Step] = steps if fail_after is None else steps[:fail_after]
        self.delay = delay
        self.error = error
        self.finish_reason = finish_reason
        self.usage = usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One recorded request."""

    prompt: Prompt
    tools: Sequence[Mapping[str, Any]] | None = None
    tool_choice: str | None = None
    response_format: Mapping[str, Any] | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    stop: Sequence[str] | None = None


class ScriptedChatModel(ChatModel):
    """Plays one reply for each request and records the requests.

    calls: every request with all its arguments. prompts: the messages of each. started_streams, finished_streams and
    closed_streams count the streams that began, that reached the end of their script (or raised its error), and that
    were closed or cancelled before.
    """

    def __init__(
        self,
        *,
        replies: Sequence[Reply] | Callable[[Prompt], Reply],
        name: str = "scripted",
        context_window: int = 8192,
        state: ModelState | None = None,
        speed: Speed | None = None,
        answer_limit: int | None = None,
        price: Price | None = None,
        calls_tools: bool | None = False,
        sees_pictures: bool = False,
    ) -> None:
        """`replies`: one for each request, the last one for every later request; or a function of the prompt."""
        if not callable(replies) and not replies:
            raise ValueError("a scripted model needs at least one reply")
        self._replies = replies if callable(replies) else tuple(replies)
        self._name = name
        self._context_window = context_window
        self._state = state or ModelState(name=name, phase="ready", progress=1.0)
        self._speed = speed or Speed()
        self._answer_limit = answer_limit
        self._price = price
        self._calls_tools = calls_tools
        self._sees_pictures = sees_pictures
        self.calls: list[Call] = []
        self.started_streams = 0
        self.finished_streams = 0
        self.closed_streams = 0
        self.closed = False

    @classmethod
    def saying(cls, *deltas: Step, delay: float = 0.0, name: str = "scripted") -> ScriptedChatModel:
        """Always the same answer, one step for each argument."""
        return cls(replies=[Reply(*deltas, delay=delay)], name=name)

    @classmethod
    def failing(cls, error: ModelError, *, after: Sequence[Step] = ()) -> ScriptedChatModel:
        """Raises `error` after the steps `after`."""
        return cls(replies=[Reply(*after, error=error)])

    @classmethod
    def hanging(cls, *before: Step) -> ScriptedChatModel:
        """Streams `before` and then waits for ever."""
        return cls(replies=[Reply(*before, Hold())])

    @classmethod
    def echoing(cls, *, delay: float = 0.0) -> ScriptedChatModel:
        """Repeats the last message, word by word."""
        return cls(replies=lambda prompt: Reply(*_words(prompt[-1]["content"]), delay=delay))

    name = forwarded("_name")
    answer_limit = forwarded("_answer_limit")
    price = forwarded("_price")
    calls_tools = forwarded("_calls_tools")
    sees_pictures = forwarded("_sees_pictures")

    @property
    def context_window(self) -> int:
        """As given."""
        return self._context_window

    @property
    def prompts(self) -> list[Prompt]:
        """The messages of every request, in order."""
        return [call.prompt for call in self.calls]

    def state(self) -> ModelState:
        """Ready, unless another state was given."""
        return self._state

    def speed(self) -> Speed:
        """As given, else not measured."""
        return self._speed

    async def stream(
        self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]
    ) -> AsyncGenerator[Delta, None]:
        """The next reply, step by step."""
        call = Call(prompt=tuple(messages), **options)
        self.started_streams += 1
        finished = False
        try:
            async with aclosing(_played(self.reply_to(call), call.prompt)) as deltas:
                async for delta in deltas:
                    yield delta
            finished = True
        except ModelError:
            finished = True
            raise
        finally:
            self.finished_streams += finished
            self.closed_streams += not finished

    async def aclose(self) -> None:
        """Record that the model was closed."""
        self.closed = True

    def reply_to(self, call: Call) -> Reply:
        """Record a request; its reply."""
        self.calls.append(call)
        if callable(self._replies):
            return self._replies(call.prompt)
        return self._replies[min(len(self.calls), len(self._replies)) - 1]


async def _played(reply: Reply, prompt: Prompt) -> AsyncGenerator[Delta, None]:
    texts: list[str] = []
    for step in reply.steps:
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if (delta := await _performed(step)) is not None:
            texts.append(delta.text)
            yield delta
    if reply.error is not None:
        raise reply.error
    prompt_tokens = sum(estimated_tokens(message["content"]) for message in prompt)
    counted = Usage(prompt_tokens=prompt_tokens, completion_tokens=estimated_tokens("".join(texts)))
    yield Delta(finish_reason=reply.finish_reason, usage=reply.usage or counted)


async def _performed(step: Step) -> Delta | None:
    match step:
        case str():
            return Delta(text=step)
        case Delta():
            return step
        case Pause():
            await asyncio.sleep(step.seconds)
        case Hold():
            await step.wait()
        case ModelError():
            raise step
    return None


def _words(text: str) -> list[str]:
    *words, last = text.split(" ")
    return [*(f"{word} " for word in words), last]
