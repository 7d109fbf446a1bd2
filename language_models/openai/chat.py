"""Chat and embedding models behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, aclosing
from dataclasses import replace
from typing import Any

from language_models.errors import BadCredentialsError, ContextTooLongError, ModelFailedError, ModelUnavailableError
from language_models.openai.client import EventStream, ProviderHttp, Timeouts
from language_models.openai.wire import (
    DONE,
    THINKING,
    AttemptFailedError,
    ChunkReader,
    Dialect,
    RetryPolicy,
    request_body,
    whole_answer,
)
from language_models.ports import ChatMessage, Completion, Delta, ModelState, Speed, Usage, collected
from language_models.speed import SpeedMeter, Stopwatch
from language_models.tokens import ContextWindow, estimated_tokens, known_answer_limit

_NEARLY = 16
"""Tokens of a window that a model may leave unused when it ends an answer because the window is full."""


class ProviderChatModel:
    """A `ChatModel` over HTTP. Nothing is opened, nor aiohttp imported, before the first request."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | None,
        model: str,
        context_window: int | None = None,
        answer_tokens: int | None = None,
        wants_limit: bool = False,
        timeouts: Timeouts | None = None,
        retries: RetryPolicy | None = None,
        meter: SpeedMeter | None = None,
    ) -> None:
        """`base_url` ends before `/chat/completions`.

        context_window: tokens, found out where it is None. answer_tokens: what the operator allows an answer; None: as
        much as the model can. wants_limit: the provider refuses requests that name no limit.
        """
        self._model = model
        self._http = ProviderHttp(base_url=base_url, api_key=api_key, model=model, timeouts=timeouts or Timeouts())
        self._retries = retries or RetryPolicy()
        self._answer_tokens = answer_tokens
        self._own_limit = known_answer_limit(model)
        self._dialect = Dialect(answer_limit=self._own_limit, wants_limit=wants_limit)
        self._meter = meter or SpeedMeter()
        self._window = ContextWindow(model, given=context_window)
        self._thinks = False
        self._finding_out: asyncio.Task[None] | None = None
        self._trouble = ""

    @property
    def name(self) -> str:
        """The model's name at the provider."""
        return self._model

    @property
    def context_window(self) -> int:
        """Tokens for prompt and answer: as given, by family, as the provider's list says, else assumed and learned."""
        return self._window.tokens

    @property
    def answer_limit(self) -> int | None:
        """What the operator allows, else what the publisher states for the model's family; None: not known."""
        return self._answer_tokens or self._own_limit

    def count_tokens(self, text: str) -> int:
        """Characters / 3, rounded up."""
        return estimated_tokens(text)

    def state(self) -> ModelState:
        """Ready, or failed when the last request found nobody or was refused its key."""
        if self._trouble:
            return ModelState(name=self._model, phase="failed", detail=self._trouble)
        return ModelState(name=self._model, phase="ready", progress=1.0)

    def speed(self) -> Speed:
        """By the provider's own timings, else by the clock here, which includes the way to the provider."""
        return self._meter.speed()

    def stream(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[Mapping[str, Any]] | None = None,
        response_format: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
    ) -> AsyncGenerator[Delta, None]:
        """The answer, step by step; a status step for each retry. A regex response format is passed over."""
        if response_format is not None and response_format.get("type") == "regex":
            response_format = None
        body = request_body(
            self._model,
            messages,
            tools=tools,
            response_format=response_format,
            max_tokens=max_tokens or self._answer_tokens,
            temperature=temperature,
            stop=stop,
        )
        return self.stream_request(body)

    async def stream_request(self, body: dict[str, Any]) -> AsyncGenerator[Delta, None]:
        """The answer to a ready-made chat-completions request, step by step."""
        attempt = 1
        while True:
            stopwatch = Stopwatch()
            spoken = self._dialect.spoken(body)
            try:
                events = await self._http.open_stream("/chat/completions", spoken)
                async with aclosing(self._until_begun(events)) as comments:
                    async for status in comments:
                        yield status
                break
            except AttemptFailedError as failure:
                if self._dialect.learns_from(failure, spoken):
                    continue
                if isinstance(failure.error, ContextTooLongError) and "max_tokens" in body:
                    # The prompt may fit without the room that was asked for beside it.
                    body = {field: value for field, value in body.items() if field != "max_tokens"}
                    continue
                pause = self._retries.pause_after(attempt, failure)
                if pause is None:
                    self._note_failure(failure)
                    raise failure.error from failure
            yield Delta(status=f"The model does not answer; trying again in {math.ceil(pause)} s")
            await asyncio.sleep(pause)
            attempt += 1
        self._trouble = ""
        self._find_out_context_window()
        reader = ChunkReader(self._model, meter=self._meter, stopwatch=stopwatch)
        async with aclosing(_steps(events, reader)) as steps:
            async for step in steps:
                yield step if step.finish_reason is None else self._ended(step, spoken, thought=reader.has_thought)

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        response_format: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
    ) -> Completion:
        """The whole answer; streamed underneath, so that timeouts and cancellation mean the same.

        `max_tokens` is for what is said: a model that thinks first is not limited, since thoughts would count too.
        """

        async def said(limit: int | None) -> Completion:
            wishes: Any = {"response_format": response_format, "temperature": temperature, "stop": stop}
            return await collected(self.stream(messages, max_tokens=limit, **wishes))

        limit = None if self._thinks else max_tokens
        completion = await said(limit)
        if self._thinks and limit is not None and completion.finish_reason == "length":
            return await said(None)
        return completion

    async def models(self) -> tuple[str, ...]:
        """Names of the models that the provider offers."""
        try:
            listed = await self._http.get_json("/models")
        except AttemptFailedError as failure:
            raise failure.error from failure
        entries = listed.get("data", ()) if isinstance(listed, dict) else ()
        return tuple(str(entry["id"]) for entry in entries if isinstance(entry, dict) and "id" in entry)

    async def aclose(self) -> None:
        """Close all connections."""
        if self._finding_out is not None and not self._finding_out.done():
            self._finding_out.get_loop().call_soon_threadsafe(self._finding_out.cancel)
        await self._http.aclose()

    async def find_out_context_window(self) -> None:
        """Ask the provider's list of models for the window, unless it is known. A failure leaves it assumed."""
        if not self._window.is_assumed:
            return
        try:
            listed = await self._http.get_json("/models")
        except AttemptFailedError:
            return
        self._window.note_list(listed)

    async def _until_begun(self, events: EventStream) -> AsyncGenerator[Delta, None]:
        """A status when the provider says, before its first event, that it is at work. Raises AttemptFailedError."""
        with ExitStack() as unless_begun:
            unless_begun.callback(events.close)
            has_said = False
            while not await self._http.has_begun(events):
                if not has_said:
                    yield Delta(status=THINKING)
                has_said = True
            unless_begun.pop_all()

    def _note_failure(self, failure: AttemptFailedError) -> None:
        if isinstance(failure.error, ModelUnavailableError | BadCredentialsError):
            self._trouble = failure.error.message
        if isinstance(failure.error, ContextTooLongError):
            self._window.note_refusal(failure.error.message)

    def _find_out_context_window(self) -> None:
        if self._window.is_assumed and self._finding_out is None:
            self._finding_out = asyncio.create_task(self.find_out_context_window())

    def _ended(self, last: Delta, spoken: dict[str, Any], *, thought: bool) -> Delta:
        """The last step of an answer; where that was cut, with a sentence that says whose limit cut it."""
        usage = last.usage or Usage()
        self._thinks = self._thinks or thought or usage.reasoning_tokens > 0
        estimated = sum(estimated_tokens(message["content"]) for message in spoken["messages"])
        self._window.note_answer(usage, estimated=estimated)
        if last.finish_reason != "length":
            return last
        return replace(last, status=self._why_cut(usage, spoken))

    def _why_cut(self, usage: Usage, spoken: dict[str, Any]) -> str:
        sent = spoken.get("max_tokens") or spoken.get("max_completion_tokens")
        if sent and (not usage.completion_tokens or usage.completion_tokens >= sent):
            if sent == self._answer_tokens:
                return f"The answer was cut at {sent:,} tokens, which ANAPHORA_ANSWER_TOKENS allows {self._model}."
            return f"The answer was cut at its limit of {sent:,} tokens."
        if usage.prompt_tokens + usage.completion_tokens >= self._window.tokens - _NEARLY:
            return f"The answer was cut: with it, {self._model}'s window of {self._window.tokens:,} tokens is full."
        return f"The provider of {self._model} cut the answer at a limit of its own."


async def _steps(events: EventStream, reader: ChunkReader) -> AsyncGenerator[Delta, None]:
    try:
        if events.in_one_piece:
            for step in whole_answer(await events.whole_body(), reader):
                yield step
            return
        while batch := await _next_batch(events, reader):
            for data in batch:
                if (delta := reader.read(data)) is not None:
                    if delta.text:
                        events.expect_words()
                    yield delta
            if batch[-1] == DONE:
                break
        await events.finish()
        yield reader.last()
    finally:
        events.close()


async def _next_batch(events: EventStream, reader: ChunkReader) -> list[bytes]:
    try:
        return await events.events()
    except ModelFailedError:
        # Some servers hang up after the last word without saying that it was the last.
        if reader.complete:
            return []
        raise
