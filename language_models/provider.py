"""Chat and embedding models behind any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import math
from array import array
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from language_models.chat_completions import DONE, ChunkReader, request_body, whole_answer
from language_models.collecting import collected
from language_models.context_windows import (
    UNKNOWN,
    known_answer_limit,
    known_context_window,
    offered_context_window,
)
from language_models.dialect import Dialect
from language_models.errors import BadCredentialsError, ModelFailedError, ModelUnavailableError
from language_models.estimates import estimated_tokens
from language_models.http_client import EventStream, ProviderHttp, Timeouts
from language_models.ports import ChatMessage, Completion, Delta, ModelState, Speed
from language_models.refusals import AttemptFailedError
from language_models.retries import RetryPolicy
from language_models.speed import SpeedMeter, Stopwatch


class ProviderChatModel:
    """A `ChatModel` over HTTP. Nothing is opened, nor aiohttp imported, before the first request."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | None,
        model: str,
        context_window: int | None = None,
        timeouts: Timeouts | None = None,
        retries: RetryPolicy | None = None,
        meter: SpeedMeter | None = None,
    ) -> None:
        """`base_url` ends before `/chat/completions`; `context_window` in tokens, found out where it is None."""
        self._model = model
        self._http = ProviderHttp(base_url=base_url, api_key=api_key, model=model, timeouts=timeouts or Timeouts())
        self._retries = retries or RetryPolicy()
        self._dialect = Dialect()
        self._meter = meter or SpeedMeter()
        self._context_window = context_window or known_context_window(model)
        self._finding_out: asyncio.Task[None] | None = None
        self._trouble = ""

    @property
    def name(self) -> str:
        """The model's name at the provider."""
        return self._model

    @property
    def context_window(self) -> int:
        """Tokens for prompt and answer: as given, by family, as the provider's list says, else 128,000."""
        return self._context_window or UNKNOWN

    @property
    def answer_limit(self) -> int | None:
        """As the publisher states it for the model's family; None: not known."""
        return known_answer_limit(self._model)

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
            max_tokens=max_tokens,
            temperature=temperature,
            stop=stop,
        )
        return self.stream_request(body)

    async def stream_request(self, body: dict[str, Any]) -> AsyncGenerator[Delta, None]:
        """The answer to a ready-made chat-completions request, step by step."""
        attempt = 1
        while True:
            stopwatch = Stopwatch()
            try:
                spoken = self._dialect.spoken(body)
                events = await self._http.open_stream("/chat/completions", spoken)
                break
            except AttemptFailedError as failure:
                if self._dialect.learns_from(failure, spoken):
                    continue
                pause = self._retries.pause_after(attempt, failure)
                if pause is None:
                    self._note_trouble(failure)
                    raise failure.error from failure
            yield Delta(status=f"The model does not answer; trying again in {math.ceil(pause)} s")
            await asyncio.sleep(pause)
            attempt += 1
        self._trouble = ""
        self._find_out_context_window()
        reader = ChunkReader(self._model, meter=self._meter, stopwatch=stopwatch)
        async with aclosing(_steps(events, reader)) as steps:
            async for step in steps:
                yield step

    async def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        response_format: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        stop: Sequence[str] | None = None,
    ) -> Completion:
        """The whole answer; streamed underneath, so that timeouts and cancellation mean the same."""
        return await collected(
            self.stream(
                messages,
                response_format=response_format,
                max_tokens=max_tokens,
                temperature=temperature,
                stop=stop,
            )
        )

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

    def _note_trouble(self, failure: AttemptFailedError) -> None:
        if isinstance(failure.error, ModelUnavailableError | BadCredentialsError):
            self._trouble = failure.error.message

    def _find_out_context_window(self) -> None:
        if self._context_window is None and self._finding_out is None:
            self._finding_out = asyncio.create_task(self._ask_for_context_window())

    async def _ask_for_context_window(self) -> None:
        try:
            listed = await self._http.get_json("/models")
        except AttemptFailedError:
            return
        self._context_window = offered_context_window(listed, self._model)


async def _steps(events: EventStream, reader: ChunkReader) -> AsyncGenerator[Delta, None]:
    try:
        if events.in_one_piece:
            for step in whole_answer(await events.whole_body(), reader):
                yield step
            return
        while batch := await _next_batch(events, reader):
            for data in batch:
                if (delta := reader.read(data)) is not None:
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


class ProviderEmbeddingModel:
    """Embeddings over HTTP."""

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str | None,
        model: str,
        timeouts: Timeouts | None = None,
        retries: RetryPolicy | None = None,
    ) -> None:
        """`base_url` ends before `/embeddings`."""
        self._model = model
        self._http = ProviderHttp(base_url=base_url, api_key=api_key, model=model, timeouts=timeouts or Timeouts())
        self._retries = retries or RetryPolicy()

    @property
    def name(self) -> str:
        """The model's name at the provider."""
        return self._model

    async def embed(self, texts: Sequence[str]) -> list[array[float]]:
        """One L2-normalised float32 vector for each text, in order."""
        answer = await self._answer({"model": self._model, "input": list(texts)})
        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = [_normalised(row["embedding"]) for row in rows]
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFailedError(f"{self._model} answered no embeddings", model=self._model) from error
        if len(vectors) != len(texts):
            message = f"{self._model} answered {len(vectors)} vectors for {len(texts)} texts"
            raise ModelFailedError(message, model=self._model)
        return vectors

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _answer(self, body: dict[str, Any]) -> Any:
        attempt = 1
        while True:
            try:
                return await self._http.post_json("/embeddings", body)
            except AttemptFailedError as failure:
                pause = self._retries.pause_after(attempt, failure)
                if pause is None:
                    raise failure.error from failure
            await asyncio.sleep(pause)
            attempt += 1


def _normalised(vector: Sequence[float]) -> array[float]:
    length = math.sqrt(math.fsum(value * value for value in vector)) or 1.0
    return array("f", [value / length for value in vector])
