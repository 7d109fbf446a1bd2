"""The chat-completions API on the wire: request bodies, and the differences between providers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from language_models.errors import ContextTooLongError
from language_models.openai.failures import AttemptFailedError
from language_models.ports import ChatMessage, ChatOptions

_IN_FORM = "Answer with a JSON object alone, by this JSON Schema:"
_OPTIONAL_FIELDS = ("stream_options", "temperature", "stop")
_UNKNOWN_LIMIT = 4_096
"""The `max_tokens` for an endpoint that requires one, for a model whose own limit is unknown."""
_SMALLEST_LIMIT = 256
_FORM_REFUSED = re.compile(
    r"(response|output)[_ ](format|config)|json[_ ]schema|structured[_ ]output|\bgrammar|\bschemas? (is|are|contain)",
    re.IGNORECASE,
)
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


def with_format(messages: Sequence[ChatMessage], form: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages, the last of which says what form the answer is to have."""
    *before, last = messages
    schema = orjson.dumps(form["json_schema"]["schema"]).decode()
    return [*before, {**last, "content": f"{last['content']}\n\n{_IN_FORM}\n{schema}"}]


class Dialect:
    """The fields that one endpoint accepts. Endpoints differ in a few; each difference is learned from an error."""

    def __init__(
        self, *, answer_limit: int | None = None, needs_limit: bool = False, ignores_format: bool = False
    ) -> None:
        """`answer_limit`: the model's own, in tokens. `needs_limit`: requests without `max_tokens` are refused.

        ignores_format: `response_format` has no effect, so that the model is told the JSON Schema.
        """
        self._left_out: set[str] = set()
        self._renames_max_tokens = False
        self._needs_limit = needs_limit
        self._answer_limit = answer_limit
        self._tells_format = ignores_format

    def know(self, *, answer_limit: int | None, ignores_format: bool) -> None:
        """What the provider says of the model."""
        self._answer_limit = answer_limit or self._answer_limit
        self._tells_format = self._tells_format or ignores_format

    def adapted(self, body: dict[str, Any]) -> dict[str, Any]:
        """`body` in this endpoint's dialect."""
        adapted = {field: value for field, value in body.items() if field not in self._left_out}
        if self._needs_limit:
            adapted.setdefault("max_tokens", self._answer_limit or _UNKNOWN_LIMIT)
        if "max_tokens" in adapted and self._answer_limit:
            adapted["max_tokens"] = min(adapted["max_tokens"], self._answer_limit)
        if self._renames_max_tokens and "max_tokens" in adapted:
            adapted["max_completion_tokens"] = adapted.pop("max_tokens")
        if self._tells_format and "response_format" in adapted:
            adapted["messages"] = with_format(adapted["messages"], adapted.pop("response_format"))
        return adapted

    def learns_from(self, failure: AttemptFailedError, sent: dict[str, Any]) -> bool:
        """Whether the refusal of the body `sent` names a field to leave out or rename; then the request is sent again.

        Compares with what was sent, since a concurrent request may have learned the same meanwhile.
        """
        message = failure.complaint
        if "max_tokens" in sent and "max_completion_tokens" in message:
            self._renames_max_tokens = True
            return True
        if isinstance(failure.error, ContextTooLongError):
            return False
        if "response_format" in sent and _FORM_REFUSED.search(f"{failure.parameter} {message}"):
            self._tells_format = True
            return True
        if failure.parameter == "max_tokens" or "max_tokens" in message or "max_completion_tokens" in message:
            return self._learns_limit(message, sent)
        for field in _OPTIONAL_FIELDS:
            if field in sent and (failure.parameter == field or f"'{field}'" in message):
                self._left_out.add(field)
                return True
        return False

    def with_less_room(
        self, failure: AttemptFailedError, body: dict[str, Any], sent: dict[str, Any]
    ) -> dict[str, Any] | None:
        """`body` that reserves less of the window for the answer, for which the prompt may not be too long.

        None where nothing is reserved, or the prompt is too long by itself.
        """
        if not isinstance(failure.error, ContextTooLongError):
            return None
        if not self._needs_limit:
            return (
                {field: each for field, each in body.items() if field != "max_tokens"} if "max_tokens" in body else None
            )
        less = sent.get("max_tokens", sent.get("max_completion_tokens", 0)) // 2
        return {**body, "max_tokens": less} if "max_tokens" in failure.complaint and less >= _SMALLEST_LIMIT else None

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
