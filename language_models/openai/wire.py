"""The chat-completions API on the wire: request bodies, the differences between providers, the chunks of a stream."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from language_models.errors import ContextTooLongError, ModelFailedError
from language_models.openai.failures import AttemptFailedError, error_within_stream
from language_models.ports import ChatMessage, ChatOptions, Delta, Usage
from language_models.speed import SpeedMeter, Stopwatch
from sentences import say

DONE = b"[DONE]"
THINKING = say("model_thinking")

_OPTIONAL_FIELDS = ("stream_options", "temperature", "stop")
_UNKNOWN_LIMIT = 4_096
"""The `max_tokens` for an endpoint that requires one, for a model whose own limit is unknown."""
_SMALLEST_LIMIT = 256
_NUMBER = re.compile(r"\d[\d,]*")


def request_body(model: str, messages: Sequence[ChatMessage], options: ChatOptions) -> dict[str, Any]:
    """A streaming request that also asks for token counts. Options that are None or empty lists are left out."""
    body: dict[str, Any] = {
        "model": model,
        "messages": [_with_pictures(message) for message in messages],
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    body.update({name: value for name, value in options.items() if value is not None and value != []})
    return body


def _with_pictures(message: ChatMessage) -> Mapping[str, Any]:
    """The message with its pictures as parts of its content."""
    pictures = message.get("pictures")
    if not pictures:
        return message
    others = {name: value for name, value in message.items() if name != "pictures"}
    shown = [{"type": "image_url", "image_url": {"url": picture}} for picture in pictures]
    return {**others, "content": [{"type": "text", "text": message["content"]}, *shown]}


class Dialect:
    """The fields that one endpoint accepts. Endpoints differ in a few; each difference is learned from an error."""

    def __init__(self, *, answer_limit: int | None = None, needs_limit: bool = False) -> None:
        """`answer_limit`: the model's own, in tokens. `needs_limit`: requests without `max_tokens` are refused."""
        self._left_out: set[str] = set()
        self._renames_max_tokens = False
        self._needs_limit = needs_limit
        self._answer_limit = answer_limit

    def adapted(self, body: dict[str, Any]) -> dict[str, Any]:
        """`body` in this endpoint's dialect."""
        adapted = {field: value for field, value in body.items() if field not in self._left_out}
        if self._needs_limit:
            adapted.setdefault("max_tokens", self._answer_limit or _UNKNOWN_LIMIT)
        if "max_tokens" in adapted and self._answer_limit:
            adapted["max_tokens"] = min(adapted["max_tokens"], self._answer_limit)
        if self._renames_max_tokens and "max_tokens" in adapted:
            adapted["max_completion_tokens"] = adapted.pop("max_tokens")
        return adapted

    def learns_from(self, failure: AttemptFailedError, sent: dict[str, Any]) -> bool:
        """Whether the refusal of the body `sent` names a field to leave out or rename; then the request is sent again.

        Compares with what was sent, since a concurrent request may have learned the same meanwhile.
        """
        message = failure.error.message
        if "max_tokens" in sent and "max_completion_tokens" in message:
            self._renames_max_tokens = True
            return True
        if isinstance(failure.error, ContextTooLongError):
            return False
        if failure.parameter == "max_tokens" or "max_tokens" in message or "max_completion_tokens" in message:
            return self._learns_limit(message, sent)
        for field in _OPTIONAL_FIELDS:
            if field in sent and (failure.parameter == field or f"'{field}'" in message):
                self._left_out.add(field)
                return True
        return False

    def _learns_limit(self, message: str, sent: dict[str, Any]) -> bool:
        """Learn from a refusal of `max_tokens`: it is missing, or larger than the model allows."""
        limit = sent.get("max_tokens", sent.get("max_completion_tokens"))
        if limit is None:
            self._needs_limit = True
            return True
        allowed = [int(figure.replace(",", "")) for figure in _NUMBER.findall(message)]
        allowed = [figure for figure in allowed if _SMALLEST_LIMIT <= figure < limit]
        if allowed:
            self._answer_limit = max(allowed)
        return bool(allowed)


class ChunkReader:
    """Turns the events of one stream into deltas, and collects what belongs to the last one."""

    __slots__ = (
        "_calls",
        "_finish_reason",
        "_meter",
        "_model",
        "_status",
        "_stopwatch",
        "_usage",
        "complete",
        "has_thought",
    )

    def __init__(self, model: str, *, meter: SpeedMeter, stopwatch: Stopwatch) -> None:
        """`stopwatch` was started with the request; `meter` is told the model's speed.

        complete: the answer has ended. has_thought: the model has shown thoughts before its answer.
        """
        self._model = model
        self._meter = meter
        self._stopwatch: Stopwatch | None = stopwatch
        self._calls: dict[int, dict[str, Any]] = {}
        self._finish_reason: str | None = None
        self._usage: Usage | None = None
        self._status = ""
        self.complete = False
        self.has_thought = False

    def read(self, data: bytes) -> Delta | None:
        """What one event adds to the answer, if anything. Raises ModelFailedError and its siblings."""
        if data == DONE:
            self.complete = True
            return None
        chunk = self._parsed(data)
        try:
            return self._delta(chunk)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self._invalid() from error

    def last(self) -> Delta:
        """The step that ends the answer. Raises ModelFailedError if the stream ended too early."""
        if not self.complete:
            raise ModelFailedError(say("model_broke_off", model=self._model), model=self._model)
        if self._stopwatch is not None and self._usage is not None:
            self._stopwatch.tell(self._meter, self._usage)
        calls = tuple(self._calls[index] for index in sorted(self._calls))
        reason = self._finish_reason or ("tool_calls" if calls else "stop")
        return Delta(tool_calls=calls, usage=self._usage, finish_reason=reason)

    def document(self, body: bytes) -> Iterator[Delta]:
        """The steps of a response that is one JSON document instead of a stream."""
        if (delta := self.read(body)) is not None:
            yield delta
        yield self.last()

    def _parsed(self, data: bytes) -> dict[str, Any]:
        try:
            chunk = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            raise self._invalid() from error
        if not isinstance(chunk, dict):
            raise self._invalid()
        if complaint := chunk.get("error"):
            raise error_within_stream(complaint, model=self._model)
        return chunk

    def _invalid(self) -> ModelFailedError:
        return ModelFailedError(f"{self._model} answered something that is no completion", model=self._model)

    def _delta(self, chunk: Mapping[str, Any]) -> Delta | None:
        self._note_figures(chunk)
        if progress := chunk.get("prompt_progress"):
            return self._reading_status(progress)
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
        text, thinking = delta.get("content") or "", delta.get("reasoning_content") or delta.get("reasoning")
        if not isinstance(text, str):
            raise self._invalid()
        if not (text or thinking):
            return None
        self._tick()
        if not thinking:
            return Delta(text=text)
        status = None if self.has_thought or text else THINKING
        self.has_thought = True
        return Delta(text=text, thinking=thinking if isinstance(thinking, str) else "", status=status)

    def _note_figures(self, chunk: Mapping[str, Any]) -> None:
        if usage := chunk.get("usage"):
            self._usage = _usage(usage)
        if timings := chunk.get("timings"):
            self._meter.note_timings(timings)
            self._stopwatch = None

    def _reading_status(self, progress: Any) -> Delta | None:
        """How long llama.cpp's server will still read a long prompt; None while the estimate does not change."""
        status = self._meter.reading_left(progress)
        if status is None or status == self._status:
            return None
        self._status = status
        return Delta(status=status)

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


def _usage(usage: Mapping[str, Any]) -> Usage:
    prompt, completion = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
    return Usage(
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        cached_tokens=int(prompt.get("cached_tokens") or 0),
        reasoning_tokens=int(completion.get("reasoning_tokens") or 0),
    )
