"""A chat model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, ClassVar, Unpack

import tracing
from language_models.errors import (
    ContextTooLongError,
    ModelRateLimitedError,
    ModelUnavailableError,
    ModelUnknownError,
)
from language_models.openai.chunks import DONE, THINKING, ChunkReader
from language_models.openai.client import AnswerStream, ProviderHttp, Timeouts
from language_models.openai.failures import AttemptFailedError, RetryPolicy
from language_models.openai.wire import Dialect, request_body
from language_models.ports import (
    ChatMessage,
    ChatModel,
    ChatOptions,
    Completion,
    Delta,
    Price,
    Usage,
    forwarded,
)
from language_models.speed import SpeedMeter, Stopwatch
from language_models.tokens import ContextWindow, dense_tokens, estimated_tokens, known_answer_limit, model_entries
from sentences import say

_UNUSED_TOKENS = 16
"""The most tokens that a model leaves unused when it ends an answer because its window is full."""


class ProviderChatModel(ChatModel):
    """A `ChatModel` over HTTP. Opens nothing, and does not import aiohttp, before the first request."""

    transport: ClassVar[type[ProviderHttp]] = ProviderHttp
    reader: ClassVar[type[ChunkReader]] = ChunkReader

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | None,
        model: str,
        context_window: int | None = None,
        answer_tokens: int | None = None,
        needs_limit: bool = False,
        ignores_format: bool = False,
        calls_tools: bool | None = None,
        sees_pictures: bool = False,
        price: Price | None = None,
        timeouts: Timeouts | None = None,
        retries: RetryPolicy | None = None,
        meter: SpeedMeter | None = None,
    ) -> None:
        """`base_url` ends before `/chat/completions`.

        context_window: tokens; None: found out. answer_tokens: the operator's limit of an answer; None: the model's.
        needs_limit: the provider refuses requests without `max_tokens`. ignores_format: it ignores `response_format`.
        calls_tools, price: None: unknown.
        """
        self._model = model
        self._http = self.transport(base_url=base_url, api_key=api_key, model=model, timeouts=timeouts or Timeouts())
        self._retries = retries or RetryPolicy()
        self._answer_tokens = answer_tokens
        self._price = price
        self._calls_tools = calls_tools
        self._sees_pictures = sees_pictures
        self._own_limit = known_answer_limit(model)
        self._dialect = Dialect(answer_limit=self._own_limit, needs_limit=needs_limit, ignores_format=ignores_format)
        self._meter = meter or SpeedMeter()
        self._window = ContextWindow(model, given=context_window)
        self._thinks = False
        self._finding_window: asyncio.Task[None] | None = None

    name = forwarded("_model")
    context_window = forwarded("_window.tokens")
    # By the provider's own timings, else measured here, network included.
    speed = forwarded("_meter.speed")
    # Ready, or failed when the last request found no server or the key was refused.
    state = forwarded("_http.state")

    @property
    def answer_limit(self) -> int | None:
        """The operator's limit, else that of the model's family; None: unknown."""
        return self._answer_tokens or self._own_limit

    @property
    def price(self) -> Price | None:
        """The operator's; None: unknown."""
        return self._price

    @property
    def calls_tools(self) -> bool | None:
        """As the provider is known to do; None for other endpoints."""
        return self._calls_tools

    @property
    def sees_pictures(self) -> bool:
        """As the provider is known to, or the operator says."""
        return self._sees_pictures

    def stream(self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]) -> AsyncGenerator[Delta, None]:
        """The answer, with a status step for each retry. A regex response format is ignored."""
        return self.stream_request(self._body(messages, options))

    async def stream_request(self, body: dict[str, Any]) -> AsyncGenerator[Delta, None]:
        """The answer to a chat-completions request body."""
        about = {"gen_ai.operation.name": "chat", "gen_ai.request.model": self._model}
        with tracing.call_span(f"chat {self._model}", about):
            attempt, has_begun = 1, False
            while True:
                sent = self._dialect.adapted(body)
                try:
                    async with aclosing(self._attempt(sent)) as steps:
                        async for step in steps:
                            has_begun = has_begun or bool(step.text or step.thinking)
                            yield step
                    return
                except AttemptFailedError as failure:
                    if not has_begun and self._dialect.learns_from(failure, sent):
                        continue
                    less = None if has_begun else self._dialect.with_less_room(failure, body, sent)
                    if less is not None:
                        body = less
                        continue
                    pause = None if has_begun else self._retries.pause_after(attempt, failure)
                    if pause is None:
                        self._note_failure(failure)
                        raise failure.error from failure
                    is_limited = isinstance(failure.error, ModelRateLimitedError)
                yield Delta(status=say("requests_limited" if is_limited else "model_silent", seconds=math.ceil(pause)))
                await asyncio.sleep(pause)
                attempt += 1

    async def _attempt(self, sent: dict[str, Any]) -> AsyncGenerator[Delta, None]:
        """The answer to one request. Raises AttemptFailedError, also in the middle of the answer."""
        stopwatch = Stopwatch()
        events = await self._http.open_stream(sent)
        async with aclosing(self._until_begun(events)) as comments:
            async for status in comments:
                yield status
        self._begin_finding_window()
        reader = self.reader(self._model, meter=self._meter, stopwatch=stopwatch)
        async with aclosing(_steps(events, reader)) as steps:
            async for step in steps:
                self._http.note_success()
                ended = step.finish_reason is not None
                yield self._ended(step, sent, has_thought=reader.has_thought) if ended else step

    async def complete(self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]) -> Completion:
        """The whole answer.

        `max_tokens` limits the visible answer: models that think are not limited, since thoughts count too.
        """
        if self._thinks:
            options["max_tokens"] = None
        completion = await super().complete(messages, **options)
        if self._thinks and options.get("max_tokens") is not None and completion.finish_reason == "length":
            options["max_tokens"] = None
            return await super().complete(messages, **options)
        return completion

    async def models(self) -> tuple[str, ...]:
        """Names of the models that the provider offers."""
        try:
            listed = await self._http.model_list()
        except AttemptFailedError as failure:
            if isinstance(failure.error, ModelUnknownError):
                raise ModelUnavailableError(say("no_model_list")) from failure
            raise failure.error from failure
        return tuple(str(entry["id"]) for entry in model_entries(listed) if "id" in entry)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._finding_window is not None and not self._finding_window.done():
            self._finding_window.get_loop().call_soon_threadsafe(self._finding_window.cancel)
        await self._http.aclose()

    async def find_context_window(self) -> None:
        """Look the context window up in the provider's model list, unless it is settled. A failure changes nothing."""
        if not self._window.may_be_stated:
            return
        try:
            listed = await self._http.model_list()
        except AttemptFailedError:
            return
        self._window.note_list(listed)

    async def _until_begun(self, events: AnswerStream) -> AsyncGenerator[Delta, None]:
        """Wait for the first event; one status if comments arrive before it. Raises AttemptFailedError."""
        has_said = False
        try:
            while not await self._http.has_begun(events):
                if not has_said:
                    yield Delta(status=THINKING)
                has_said = True
        except BaseException:
            events.close()
            raise

    def _body(self, messages: Sequence[ChatMessage], options: ChatOptions) -> dict[str, Any]:
        response_format = options.get("response_format")
        if response_format is not None and response_format.get("type") == "regex":
            options["response_format"] = None
        options["max_tokens"] = options.get("max_tokens") or self._answer_tokens
        return request_body(self._model, messages, options)

    def _note_failure(self, failure: AttemptFailedError) -> None:
        self._http.note_failure(failure.error)
        if isinstance(failure.error, ContextTooLongError):
            self._window.note_refusal(failure.error.message)

    def _begin_finding_window(self) -> None:
        if self._window.may_be_stated and self._finding_window is None:
            self._finding_window = asyncio.create_task(self.find_context_window())

    def _ended(self, last: Delta, sent: dict[str, Any], *, has_thought: bool) -> Delta:
        """The last step; if the answer or the prompt was cut, with a status that says by which limit."""
        usage = last.usage or Usage()
        self._thinks = self._thinks or has_thought or usage.reasoning_tokens > 0
        texts = [message["content"] for message in sent["messages"] if isinstance(message["content"], str)]
        estimated = sum(map(estimated_tokens, texts))
        if usage.prompt_tokens < estimated // 2:
            estimated = sum(map(dense_tokens, texts))
        was_truncated = self._window.note_answer(usage, estimated=estimated)
        if last.finish_reason == "length":
            return last if last.status else replace(last, status=self._why_cut(usage, sent))
        if was_truncated:
            return replace(last, status=say("prompt_truncated", model=self._model, tokens=usage.prompt_tokens))
        return last

    def _why_cut(self, usage: Usage, sent: dict[str, Any]) -> str:
        limit = sent.get("max_tokens") or sent.get("max_completion_tokens")
        if limit and (not usage.completion_tokens or usage.completion_tokens >= limit):
            if limit == self._answer_tokens:
                return say("cut_by_server", tokens=limit, model=self._model)
            return say("cut_at_limit", tokens=limit)
        if usage.prompt_tokens + usage.completion_tokens >= self._window.tokens - _UNUSED_TOKENS:
            return say("cut_by_window", model=self._model, tokens=self._window.tokens)
        return say("cut_by_provider", model=self._model)


async def _steps(events: AnswerStream, reader: ChunkReader) -> AsyncGenerator[Delta, None]:
    try:
        if events.is_document:
            last = reader.document(await events.document())
        else:
            while batch := await _next_batch(events, reader):
                for step in filter(None, map(reader.read, batch)):
                    if step.text:
                        events.expect_words()
                    yield step
                if batch[-1].strip() == DONE:
                    break
                if reader.complete:
                    events.expect_end()
            await events.finish()
            last = reader.last()
        for step in last:
            yield step
    finally:
        events.close()


async def _next_batch(events: AnswerStream, reader: ChunkReader) -> list[bytes]:
    try:
        return await events.events()
    except AttemptFailedError:
        # Some servers close the connection after the last token without sending [DONE].
        if reader.complete:
            return []
        raise
