"""Reads the chunks of a streamed chat completion, which providers shape in different ways."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from language_models.errors import ModelFailedError
from language_models.openai.failures import AttemptFailedError, failure_within_stream
from language_models.ports import Delta, Usage
from language_models.speed import SpeedMeter, Stopwatch
from sentences import say

DONE = b"[DONE]"
THINKING = say("model_thinking")
FILTERED = "content_filter"

_BROKEN_OFF = frozenset({"error", "abort", "insufficient_system_resource"})
"""Finish reasons of an answer that is not whole."""
_OPENED, _CLOSED = "<think>", "</think>"


class ChunkReader:
    """Turns the events of one stream into deltas, and collects what belongs to the last one."""

    __slots__ = (
        "_calls",
        "_finish_reason",
        "_meter",
        "_model",
        "_status",
        "_stopwatch",
        "_thinking",
        "_usage",
        "_words",
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
        self._calls = _ToolCalls()
        self._finish_reason: str | None = None
        self._usage: Usage | None = None
        self._status = ""
        self._words, self._thinking = _Words(), _Characters()
        self.complete = False
        self.has_thought = False

    def read(self, data: bytes) -> Delta | None:
        """What one event adds to the answer, if anything. Raises ModelFailedError; AttemptFailedError for an error."""
        if data.strip() == DONE:
            self.complete = True
            return None
        chunk = self._parsed(data)
        try:
            return self._delta(chunk)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise self._invalid() from error

    def last(self) -> Iterator[Delta]:
        """The steps that end the answer. Raises AttemptFailedError if the stream ended too early."""
        text, thinking = self._words.rest()
        if text or thinking:
            yield self._said(text, thinking)
        if not self.complete or self._finish_reason in _BROKEN_OFF:
            broken = ModelFailedError(say("model_broke_off", model=self._model), model=self._model)
            raise AttemptFailedError(broken, worth_retrying=True)
        if self._stopwatch is not None and self._usage is not None:
            self._stopwatch.tell(self._meter, self._usage)
        calls = self._made()
        reason = self._finish_reason or ("tool_calls" if calls else "stop")
        yield Delta(tool_calls=calls, usage=self._usage, finish_reason=reason)

    def document(self, body: bytes) -> Iterator[Delta]:
        """The steps of a response that is one JSON document instead of a stream."""
        if (delta := self.read(body)) is not None:
            yield delta
        yield from self.last()

    def _parsed(self, data: bytes) -> dict[str, Any]:
        try:
            chunk = _loaded(data)
        except (ValueError, RecursionError) as error:
            raise self._invalid() from error
        if not isinstance(chunk, dict):
            raise self._invalid()
        # vLLM's older servers send the error itself.
        if complaint := chunk.get("error") or (chunk if chunk.get("object") == "error" else None):
            raise failure_within_stream(complaint, model=self._model)
        return chunk

    def _invalid(self) -> ModelFailedError:
        return ModelFailedError(say("no_completion", model=self._model), model=self._model)

    def _delta(self, chunk: Mapping[str, Any]) -> Delta | None:
        self._note_figures(chunk)
        if progress := chunk.get("prompt_progress"):
            return self._reading_status(progress)
        choices = chunk.get("choices")
        if not choices:
            return None
        choice = choices[0]
        if complaint := choice.get("error"):
            raise failure_within_stream(complaint, model=self._model)
        if reason := choice.get("finish_reason"):
            # Gemini's has more to say: "content_filter: RECITATION".
            self._finish_reason = FILTERED if str(reason).startswith(FILTERED) else str(reason)
            self.complete = True
        delta = choice.get("delta") or choice.get("message") or {}
        if calls := delta.get("tool_calls"):
            self._calls.collect(calls)
        text, found = self._words.parted(_text_of(delta))
        thinking = self._thinking.whole(_thoughts_of(delta)) + found
        return self._said(text, thinking) if text or thinking or _thinks_unseen(delta) else None

    def _said(self, text: str, thinking: str) -> Delta:
        if self._stopwatch is not None:
            self._stopwatch.tick()
        if text and not thinking:
            return Delta(text=text)
        status = None if self.has_thought or text else THINKING
        self.has_thought = True
        return Delta(text=text, thinking=thinking, status=status)

    def _made(self) -> tuple[Mapping[str, Any], ...]:
        return self._calls.all()

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


class _ToolCalls:
    """The calls of one answer, put together of their fragments."""

    __slots__ = ("_begun", "_latest")

    def __init__(self) -> None:
        self._begun: list[tuple[int, dict[str, Any]]] = []
        self._latest: dict[int, dict[str, Any]] = {}

    def collect(self, fragments: Sequence[Mapping[str, Any]]) -> None:
        """Add fragments to the calls of their index; another id begins another call: some give all one index."""
        for position, fragment in enumerate(fragments):
            index, call_id = fragment.get("index"), fragment.get("id") or ""
            place = position if index is None else int(index)
            call = self._latest.get(place)
            if call is None or (call_id and call["id"] and call_id != call["id"]):
                call = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
                self._latest[place] = call
                self._begun.append((place, call))
            call["id"] = call_id or call["id"]
            given, function = fragment.get("function") or {}, call["function"]
            name, arguments = given.get("name") or "", given.get("arguments") or ""
            if name != function["name"]:  # some repeat it with each fragment
                function["name"] += name
            function["arguments"] += orjson.dumps(arguments).decode() if isinstance(arguments, dict) else arguments

    def all(self) -> tuple[Mapping[str, Any], ...]:
        """The calls in the order of their indexes."""
        return tuple(call for _, call in sorted(self._begun, key=lambda begun: begun[0]))


class _Characters:
    """Puts together the halves of a surrogate pair, which some servers put into two pieces of text."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def whole(self, text: str) -> str:
        """`text` with the half that came before, without the half that it ends with."""
        text, self._half = self._half + text, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text if text.isascii() else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def rest(self) -> str:
        """What stands for a half whose other half never came."""
        return "\ufffd" if self._half else ""


class _Words:
    """Parts an answer from the thoughts that some servers leave at its beginning, between `<think>` and `</think>`."""

    __slots__ = ("_characters", "_held", "_part")

    def __init__(self) -> None:
        self._characters = _Characters()
        self._held = ""
        self._part = "beginning"

    def parted(self, text: str) -> tuple[str, str]:
        """The words and the thoughts that `text` adds; the beginning of what may become a tag is held back."""
        text = self._characters.whole(text)
        if self._part == "words" or not text:
            return text, ""
        self._held += text
        thoughts = ""
        if self._part == "beginning":
            self._begin()
        if self._part == "thoughts":
            thoughts = self._take_thoughts()
        if self._part == "gap":
            self._held = self._held.lstrip()
            self._part = "words" if self._held else "gap"
        if self._part != "words":
            return "", thoughts
        words, self._held = self._held, ""
        return words, thoughts

    def rest(self) -> tuple[str, str]:
        """What was held back at the end of the answer."""
        held, self._held = self._held + self._characters.rest(), ""
        return ("", held) if self._part == "thoughts" else (held, "")

    def _begin(self) -> None:
        said = self._held.lstrip()
        if said.startswith(_OPENED):
            self._part, self._held = "thoughts", said.removeprefix(_OPENED)
        elif not _OPENED.startswith(said):
            self._part = "words"

    def _take_thoughts(self) -> str:
        thoughts, closed, rest = self._held.partition(_CLOSED)
        if closed:
            self._part, self._held = "gap", rest
            return thoughts
        possible = (n for n in range(len(_CLOSED) - 1, 0, -1) if thoughts.endswith(_CLOSED[:n]))
        end = len(thoughts) - next(possible, 0)
        self._held = thoughts[end:]
        return thoughts[:end]


def _loaded(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        if b"\\u" not in data:
            raise
        return json.loads(data)  # it lets half a surrogate pair pass


def _text_of(delta: Mapping[str, Any]) -> str:
    """The words of a delta: a text, or as Mistral sends them, a list of texts and thoughts; or a refusal to answer."""
    content = delta.get("content") or delta.get("refusal") or ""
    if isinstance(content, list):
        return "".join(part["text"] for part in content if part["type"] == "text")
    if not isinstance(content, str):
        raise TypeError(type(content))
    return content


def _thoughts_of(delta: Mapping[str, Any]) -> str:
    content = delta.get("content")
    if isinstance(content, list):
        thoughts = [part["thinking"] for part in content if part["type"] == "thinking"]
        return "".join(each if isinstance(each, str) else "".join(one["text"] for one in each) for each in thoughts)
    thinking = delta.get("reasoning_content") or delta.get("reasoning")
    return thinking if isinstance(thinking, str) else ""


def _thinks_unseen(delta: Mapping[str, Any]) -> bool:
    """Whether a delta says that the model thinks, in a shape that is not known here."""
    return bool(delta.get("reasoning_content") or delta.get("reasoning") or delta.get("reasoning_details"))


def _usage(usage: Mapping[str, Any]) -> Usage:
    prompt, completion = usage.get("prompt_tokens_details") or {}, usage.get("completion_tokens_details") or {}
    return Usage(
        prompt_tokens=int(usage.get("prompt_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
        cached_tokens=int(prompt.get("cached_tokens") or 0),
        reasoning_tokens=int(completion.get("reasoning_tokens") or 0),
    )
