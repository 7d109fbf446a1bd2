"""The OpenAI chat-completions interface: request bodies out of our arguments, our steps out of its chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from language_models.errors import ModelFailedError
from language_models.ports import ChatMessage, Delta, Usage
from language_models.refusals import complaint_within_stream
from language_models.speed import SpeedMeter, Stopwatch

DONE = b"[DONE]"
THINKING = "The model is thinking"


def request_body(
    model: str,
    messages: Sequence[ChatMessage],
    *,
    tools: Sequence[Mapping[str, Any]] | None,
    response_format: Mapping[str, Any] | None,
    max_tokens: int | None,
    temperature: float | None,
    stop: Sequence[str] | None,
) -> dict[str, Any]:
    """A streaming request that also asks for the token counts; what is None stays out."""
    body: dict[str, Any] = {
        "model": model,
        "messages": list(messages),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    wishes: dict[str, Any] = {
        "tools": list(tools) if tools else None,
        "response_format": response_format,
        "max_tokens": max_tokens,
        "temperature": temperature,
        "stop": list(stop) if stop else None,
    }
    body.update({name: wish for name, wish in wishes.items() if wish is not None})
    return body


class ChunkReader:
    """Turns the data of one stream's events into deltas and remembers what only the end may tell."""

    __slots__ = (
        "_calls",
        "_finish_reason",
        "_meter",
        "_model",
        "_stopwatch",
        "_thinking",
        "_told",
        "_usage",
        "complete",
    )

    def __init__(self, model: str, *, meter: SpeedMeter, stopwatch: Stopwatch) -> None:
        """`stopwatch` runs since the request was sent; what the stream shows of the model's speed goes to `meter`."""
        self._model = model
        self._meter = meter
        self._stopwatch: Stopwatch | None = stopwatch
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish_reason: str | None = None
        self._usage: Usage | None = None
        self._thinking = False
        self._told = ""
        self.complete = False

    @property
    def has_thought(self) -> bool:
        """Whether the model has shown thoughts before its answer."""
        return self._thinking

    def read(self, data: bytes) -> Delta | None:
        """What one event adds to the answer, if anything. Raises ModelFailedError and its siblings."""
        if data == DONE:
            self.complete = True
            return None
        chunk = self._parsed(data)
        try:
            return self._delta(chunk)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self._nonsense() from error

    def _delta(self, chunk: Mapping[str, Any]) -> Delta | None:
        self._note_figures(chunk)
        if progress := chunk.get("prompt_progress"):
            return self._reading(progress)
        choices = chunk.get("choices")
        if not choices:
            return None
        choice = choices[0]
        if reason := choice.get("finish_reason"):
            self._finish_reason = str(reason)
            self.complete = True
        delta = choice.get("delta") or choice.get("message") or {}
        if calls := delta.get("tool_calls"):
            self._collect(calls)
        if text := delta.get("content"):
            if not isinstance(text, str):
                raise self._nonsense()
            self._tick()
            return Delta(text=text)
        return self._thinking_aloud(delta)

    def last(self) -> Delta:
        """The step that ends the answer. Raises ModelFailedError if the stream ended too early."""
        if not self.complete:
            raise ModelFailedError(f"{self._model} broke off in the middle of its answer", model=self._model)
        if self._stopwatch is not None and self._usage is not None:
            self._stopwatch.tell(self._meter, self._usage)
        calls = tuple(self._calls[index] for index in sorted(self._calls))
        reason = self._finish_reason or ("tool_calls" if calls else "stop")
        return Delta(tool_calls=calls, usage=self._usage, finish_reason=reason)

    def _parsed(self, data: bytes) -> dict[str, Any]:
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise self._nonsense() from error
        if not isinstance(chunk, dict):
            raise self._nonsense()
        if complaint := chunk.get("error"):
            raise complaint_within_stream(complaint, model=self._model)
        return chunk

    def _nonsense(self) -> ModelFailedError:
        return ModelFailedError(f"{self._model} answered something that is no completion", model=self._model)

    def _thinking_aloud(self, delta: Mapping[str, Any]) -> Delta | None:
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        if not thought:
            return None
        self._tick()
        if self._thinking:
            return None
        self._thinking = True
        return Delta(status=THINKING)

    def _note_figures(self, chunk: Mapping[str, Any]) -> None:
        if usage := chunk.get("usage"):
            self._usage = _usage(usage)
        if timings := chunk.get("timings"):
            self._meter.note_timings(timings)
            self._stopwatch = None

    def _reading(self, progress: Any) -> Delta | None:
        """How long llama.cpp's server will go on reading a long prompt, told when the estimate changes."""
        sentence = self._meter.reading_left(progress)
        if sentence is None or sentence == self._told:
            return None
        self._told = sentence
        return Delta(status=sentence)

    def _tick(self) -> None:
        if self._stopwatch is not None:
            self._stopwatch.tick()

    def _collect(self, fragments: Sequence[Mapping[str, Any]]) -> None:
        for position, fragment in enumerate(fragments):
            index = fragment.get("index")
            call = self._calls.setdefault(
                position if index is None else int(index),
                {"id": "", "type": "function", "function": {"name": "", "arguments": ""}},
            )
            call["id"] = fragment.get("id") or call["id"]
            function = fragment.get("function") or {}
            call["function"]["name"] += function.get("name") or ""
            call["function"]["arguments"] += function.get("arguments") or ""


def whole_answer(body: bytes, reader: ChunkReader) -> Iterator[Delta]:
    """The steps of an answer that a server sent in one piece although a stream was asked for."""
    if (delta := reader.read(body)) is not None:
        yield delta
    yield reader.last()


def _usage(usage: Mapping[str, Any]) -> Usage:
    read, written = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
    return Usage(
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        cached_tokens=int(read.get("cached_tokens") or 0),
        reasoning_tokens=int(written.get("reasoning_tokens") or 0),
    )
