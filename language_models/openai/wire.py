"""The OpenAI chat-completions interface: request bodies out of our arguments, our steps out of its chunks."""

from __future__ import annotations

import email.utils
import math
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from language_models.errors import (
    BadCredentialsError,
    ContextTooLongError,
    ModelError,
    ModelFailedError,
    ModelRateLimitedError,
    ModelUnavailableError,
    ModelUnknownError,
)
from language_models.ports import ChatMessage, Delta, Usage
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


_LONGEST_QUOTE = 300
_WORTH_RETRYING = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_TOO_LONG = (
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context size",
    "context window",
    "prompt is too long",
    "input token count exceeds",
    "too many tokens",
)


class AttemptFailedError(Exception):
    """One attempt at a request failed with `error`; `worth_retrying` says whether another may succeed.

    parameter: the request field that the provider does not know, where it named one.
    """

    def __init__(self, error: ModelError, *, worth_retrying: bool = False, parameter: str | None = None) -> None:
        super().__init__(error.message)
        self.error = error
        self.worth_retrying = worth_retrying
        self.parameter = parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderComplaint:
    """The error object of a provider's answer, reduced to what can be acted upon."""

    message: str = ""
    code: str = ""
    kind: str = ""
    parameter: str | None = None

    @classmethod
    def from_body(cls, body: bytes) -> ProviderComplaint:
        """Read an answer's body; one that is not JSON is its own message."""
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError:
            return cls(message=body.decode("utf-8", "replace").strip()[:_LONGEST_QUOTE])
        if isinstance(document, list) and document:
            document = document[0]
        return cls.from_document(document.get("error", document) if isinstance(document, dict) else document)

    @classmethod
    def from_document(cls, error: Any) -> ProviderComplaint:
        """Read an `error` value: an object, or a plain sentence."""
        if not isinstance(error, dict):
            return cls(message=str(error)[:_LONGEST_QUOTE])
        parameter = error.get("param")
        return cls(
            message=str(error.get("message") or error.get("detail") or "")[:_LONGEST_QUOTE],
            code=str(error.get("code") or ""),
            kind=str(error.get("type") or ""),
            parameter=parameter if isinstance(parameter, str) else None,
        )

    @property
    def says_too_long(self) -> bool:
        """Whether prompt and answer do not fit the model."""
        said = f"{self.code} {self.kind} {self.message}".lower()
        return any(phrase in said for phrase in _TOO_LONG)

    @property
    def says_quota_used_up(self) -> bool:
        """Whether waiting will not help because the account has nothing left."""
        return "insufficient_quota" in (self.code, self.kind) or "credit balance" in self.message.lower()


def refusal(status: int, headers: Mapping[str, str], body: bytes, *, model: str) -> AttemptFailedError:
    """The failure that an answer with an error status stands for."""
    complaint = ProviderComplaint.from_body(body)
    return AttemptFailedError(
        _error_for(status, complaint, model=model, retry_after=seconds_to_wait(headers.get("Retry-After"))),
        worth_retrying=status in _WORTH_RETRYING and not complaint.says_quota_used_up,
        parameter=complaint.parameter,
    )


def complaint_within_stream(error: Any, *, model: str) -> ModelError:
    """The error for an `error` object that arrived as an event of a stream that had begun well."""
    complaint = ProviderComplaint.from_document(error)
    status = int(complaint.code) if complaint.code.isdecimal() else 0
    if complaint.kind == "rate_limit_error" or complaint.code == "rate_limit_exceeded":
        status = 429
    if status == 0 and not complaint.says_too_long:
        return ModelFailedError(f"The model broke off: {complaint.message or 'no reason given'}", model=model)
    return _error_for(status, complaint, model=model, retry_after=None)


def _error_for(status: int, complaint: ProviderComplaint, *, model: str, retry_after: float | None) -> ModelError:  # noqa: PLR0911
    said = f": {complaint.message}" if complaint.message else ""
    if complaint.says_too_long or status == 413:
        return ContextTooLongError(f"Prompt and answer do not fit {model}{said}", model=model)
    if status in (401, 403):
        return BadCredentialsError(f"The provider refuses the API key for {model} ({status}){said}", model=model)
    if complaint.says_quota_used_up or status == 402:
        return ModelUnavailableError(f"The account's quota for {model} is used up{said}", model=model)
    if status == 429:
        message = f"The provider of {model} asks us to slow down{said}"
        return ModelRateLimitedError(message, model=model, retry_after=retry_after)
    if status == 404:
        return ModelUnknownError(f"The provider does not have {model} (404){said}", model=model)
    if status >= 500 or status in (408, 425):
        return ModelUnavailableError(f"The provider of {model} is out of order ({status}){said}", model=model)
    if 300 <= status < 400:
        message = f"The provider of {model} redirects elsewhere ({status}); check the base URL"
        return ModelUnavailableError(message, model=model)
    return ModelFailedError(f"The provider refuses the request to {model} ({status}){said}", model=model)


def seconds_to_wait(retry_after: str | None) -> float | None:
    """Seconds that a Retry-After header asks for (a number or an HTTP date), or None."""
    if not retry_after:
        return None
    try:
        seconds = float(retry_after)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time()
        except ValueError:
            return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Exponential backoff with jitter; what the provider asks for by Retry-After is honoured.

    attempts: tries in all. first_pause and longest_pause: seconds. A provider that asks for more than `longest_pause`
    is not waited for: the caller learns how long it would have been.
    """

    attempts: int = 3
    first_pause: float = 0.5
    longest_pause: float = 20.0

    def pause_after(self, attempt: int, failure: AttemptFailedError) -> float | None:
        """Seconds until the next try after attempt number `attempt` (from 1), or None to give up."""
        if attempt >= self.attempts or not failure.worth_retrying:
            return None
        asked = failure.error.retry_after if isinstance(failure.error, ModelRateLimitedError) else None
        if asked is not None:
            return asked if asked <= self.longest_pause else None
        pause = min(self.longest_pause, self.first_pause * 2.0 ** (attempt - 1))
        # Jitter keeps many turns that failed together from coming back together.
        return pause * random.uniform(0.5, 1.0)


_DISPENSABLE = ("stream_options", "temperature", "stop")
_UNKNOWN_LIMIT = 4_096
"""For an endpoint that wants a limit, of a model whose own is not known."""
_FEWEST = 256
_AT_MOST = re.compile(r"\d[\d,]*")


class Dialect:
    """Compatible endpoints differ in a few fields; the first refusal that names one is remembered."""

    def __init__(self, *, answer_limit: int | None = None, wants_limit: bool = False) -> None:
        """`answer_limit`: the model's own, in tokens. `wants_limit`: requests without one are refused."""
        self._left_out: set[str] = set()
        self._renames_max_tokens = False
        self._wants_limit = wants_limit
        self._answer_limit = answer_limit

    def spoken(self, body: dict[str, Any]) -> dict[str, Any]:
        """`body` as this endpoint wants it."""
        spoken = {field: value for field, value in body.items() if field not in self._left_out}
        if self._wants_limit:
            spoken.setdefault("max_tokens", self._answer_limit or _UNKNOWN_LIMIT)
        if "max_tokens" in spoken and self._answer_limit:
            spoken["max_tokens"] = min(spoken["max_tokens"], self._answer_limit)
        if self._renames_max_tokens and "max_tokens" in spoken:
            spoken["max_completion_tokens"] = spoken.pop("max_tokens")
        return spoken

    def learns_from(self, failure: AttemptFailedError, spoken: dict[str, Any]) -> bool:
        """Whether the refusal of `spoken` named a field that can be left out or renamed; then speak again.

        What counts is what was said: another request may have taught the same lesson meanwhile.
        """
        said = failure.error.message
        if "max_tokens" in spoken and "max_completion_tokens" in said:
            self._renames_max_tokens = True
            return True
        if isinstance(failure.error, ContextTooLongError):
            return False
        if failure.parameter == "max_tokens" or "max_tokens" in said or "max_completion_tokens" in said:
            return self._learns_limit(said, spoken)
        for field in _DISPENSABLE:
            if field in spoken and (failure.parameter == field or f"'{field}'" in said):
                self._left_out.add(field)
                return True
        return False

    def _learns_limit(self, said: str, spoken: dict[str, Any]) -> bool:
        """A refusal of the limit itself: it is missing, or larger than the model can write."""
        sent = spoken.get("max_tokens", spoken.get("max_completion_tokens"))
        if sent is None:
            self._wants_limit = True
            return True
        allowed = [int(figure.replace(",", "")) for figure in _AT_MOST.findall(said)]
        allowed = [figure for figure in allowed if _FEWEST <= figure < sent]
        if allowed:
            self._answer_limit = max(allowed)
        return bool(allowed)
