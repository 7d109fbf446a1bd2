"""A chat model of Anthropic, by the Messages API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Unpack

import orjson

from language_models.anthropic.client import MessagesHttp
from language_models.anthropic.wire import SAID_BEFORE
from language_models.errors import ModelUnknownError
from language_models.openai.chat import ProviderChatModel
from language_models.openai.chunks import FILTERED, ChunkReader
from language_models.openai.failures import AttemptFailedError
from language_models.ports import ChatMessage, ChatOptions, Completion, Delta, Usage, collected
from language_models.speed import SpeedMeter, Stopwatch
from sentences import say

_WINDOW_FULL = "model_context_window_exceeded"
_FINISH_REASONS = {
    "max_tokens": "length",
    _WINDOW_FULL: "length",
    "pause_turn": "length",
    "tool_use": "tool_calls",
    "refusal": FILTERED,
}
"""Of the stop reasons; the others end a whole answer."""
_TEXT_OF = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


class MessageReader(ChunkReader):
    """Turns the events of one message into deltas, and collects what belongs to the last one."""

    __slots__ = ("_blocks", "_figures", "_stop_reason")

    def __init__(self, model: str, *, meter: SpeedMeter, stopwatch: Stopwatch) -> None:
        """See `ChunkReader`."""
        super().__init__(model, meter=meter, stopwatch=stopwatch)
        self._blocks: dict[int, _Block] = {}
        self._figures: dict[str, Any] = {}
        self._stop_reason = ""

    def last(self) -> Iterator[Delta]:
        """The steps that end the answer; where the window was full, with a status that says so."""
        for step in super().last():
            usage = step.usage
            if self._stop_reason == _WINDOW_FULL and usage is not None:
                full = usage.prompt_tokens + usage.completion_tokens
                step = replace(step, status=say("cut_by_window", model=self._model, tokens=full))  # noqa: PLW2901
            yield step

    def _delta(self, chunk: Mapping[str, Any]) -> Delta | None:
        match chunk.get("type"):
            case "message_start":
                self._note_usage(chunk["message"]["usage"])
            case "content_block_start":
                return self._begun(chunk["index"], chunk["content_block"])
            case "content_block_delta":
                return self._grown(self._blocks[chunk["index"]], chunk["delta"])
            case "message_delta":
                self._note_usage(chunk.get("usage") or {})
                if reason := chunk["delta"].get("stop_reason"):
                    self._stop_reason = str(reason)
                    self._finish_reason = _FINISH_REASONS.get(self._stop_reason, "stop")
            case "message_stop":
                self.complete = True
        return None

    def _begun(self, index: int, given: Mapping[str, Any]) -> Delta | None:
        self._blocks[index] = _Block(given)
        if given["type"] in ("thinking", "redacted_thinking"):
            return self._said("", str(given.get("thinking") or ""))
        return self._said(given["text"], "") if given.get("text") else None

    def _grown(self, block: _Block, delta: Mapping[str, Any]) -> Delta | None:
        kind = delta["type"]
        if kind == "signature_delta":
            block.signature = delta["signature"]
        if kind not in _TEXT_OF:
            return None
        text = delta[_TEXT_OF[kind]]
        block.texts.append(text)
        if kind == "text_delta":
            return self._said(text, "")
        return self._said("", text) if kind == "thinking_delta" else None

    def _note_usage(self, usage: Mapping[str, Any]) -> None:
        """The latest figures count: they are sums."""
        self._figures.update({name: value for name, value in usage.items() if value is not None})
        figures, read = self._figures, int(self._figures.get("cache_read_input_tokens", 0))
        written = int(figures.get("cache_creation_input_tokens", 0))
        self._usage = Usage(
            prompt_tokens=int(figures.get("input_tokens", 0)) + written + read,
            completion_tokens=int(figures.get("output_tokens", 0)),
            cached_tokens=read,
            reasoning_tokens=int((figures.get("output_tokens_details") or {}).get("thinking_tokens", 0)),
        )

    def _made(self) -> tuple[Mapping[str, Any], ...]:
        """The tool calls, each with the blocks before it."""
        calls, before = list[Mapping[str, Any]](), list[Mapping[str, Any]]()
        for _, block in sorted(self._blocks.items()):
            if block.given["type"] == "tool_use":
                calls.append(block.call() | ({SAID_BEFORE: before} if before else {}))
                before = []
            elif (whole := block.whole()) is not None:
                before.append(whole)
        return tuple(calls)


class _Block:
    """One content block, as it grows."""

    __slots__ = ("given", "signature", "texts")

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        self.texts = [given[kind] for kind in ("text", "thinking") if given.get(kind)]
        self.signature = given.get("signature") or ""

    def call(self) -> dict[str, Any]:
        """The tool call, in the shape of the chat-completions API."""
        arguments = "".join(self.texts) or orjson.dumps(self.given.get("input") or {}).decode()
        function = {"name": self.given["name"], "arguments": arguments}
        return {"id": self.given["id"], "type": "function", "function": function}

    def whole(self) -> Mapping[str, Any] | None:
        """The block as the model gets it back; None: it says nothing, or is of a kind that we don't ask for."""
        text = "".join(self.texts)
        match self.given["type"]:
            case "thinking":
                return {"type": "thinking", "thinking": text, "signature": self.signature}
            case "redacted_thinking":
                return self.given
            case "text" if text.strip():
                return {"type": "text", "text": text}
        return None


_THINKING = {"type": "adaptive", "display": "summarized"}
_NO_THINKING = {"type": "disabled"}


class AnthropicChatModel(ProviderChatModel):
    """A `ProviderChatModel` that asks Anthropic for the model's limits and abilities before its first request.

    Models that decide by themselves how much to think do so in streamed answers, and where they can answer without it
    not in small jobs (`complete`), whose limits are of what they say.
    """

    transport = MessagesHttp
    reader = MessageReader
    _http: MessagesHttp

    def __init__(self, **options: Any) -> None:
        """Options of `ProviderChatModel`."""
        super().__init__(**options | {"needs_limit": True, "ignores_format": False})
        self._is_looked_up = False
        self._thinking: Mapping[str, str] | None = None
        self._can_rest = False

    async def find_context_window(self) -> None:
        """Ask for the model's limits and abilities, unless they are known. A failure changes nothing."""
        if self._is_looked_up:
            return
        try:
            info = await self._http.model_info()
        except AttemptFailedError as failure:
            self._is_looked_up = isinstance(failure.error, ModelUnknownError)
            return
        self._is_looked_up = True
        self._note_limits(info)
        able = info.get("capabilities") or {}
        kinds = (able.get("thinking") or {}).get("types")
        self._thinking = _THINKING if _supports(kinds, "adaptive") else None
        self._can_rest = self._thinking is not None and _supports(kinds, "disabled")
        if "image_input" in able:
            self._sees_pictures = _supports(able, "image_input")

    async def stream_request(self, body: dict[str, Any]) -> AsyncGenerator[Delta, None]:
        """The answer to a chat-completions request body."""
        await self.find_context_window()
        if self._thinking is not None:
            body = {"thinking": self._thinking, **body}
        async with aclosing(super().stream_request(body)) as steps:
            async for step in steps:
                yield step

    async def complete(self, messages: Sequence[ChatMessage], **options: Unpack[ChatOptions]) -> Completion:
        """The whole answer, without thinking where the model can."""
        await self.find_context_window()
        if not self._can_rest:
            return await super().complete(messages, **options)
        return await collected(self.stream_request({**self._body(messages, options), "thinking": _NO_THINKING}))

    def _note_limits(self, info: Mapping[str, Any]) -> None:
        window, answer = info.get("max_input_tokens"), info.get("max_tokens")
        if isinstance(window, int) and window > 0:
            self._window.note_stated(window)
        if isinstance(answer, int) and answer > 0:
            self._own_limit = answer
        is_told = "structured_outputs" in (info.get("capabilities") or {})
        self._dialect.know(
            answer_limit=self._own_limit,
            ignores_format=is_told and not _supports(info["capabilities"], "structured_outputs"),
        )


def _supports(able: Any, name: str) -> bool:
    return isinstance(able, dict) and isinstance(able.get(name), dict) and able[name].get("supported") is True
