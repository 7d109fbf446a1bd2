"""A chat model of Anthropic, by the Messages API."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Unpack

from language_models.anthropic.client import MessagesHttp
from language_models.anthropic.events import MessageReader
from language_models.errors import ModelUnknownError
from language_models.openai.chat import ProviderChatModel
from language_models.openai.failures import AttemptFailedError
from language_models.ports import ChatMessage, ChatOptions, Completion, Delta, collected

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
