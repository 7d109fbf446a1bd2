"""Failed requests: what a provider's error means, and when the request is retried."""

from __future__ import annotations

import email.utils
import math
import random
import time
from collections.abc import Mapping
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
from sentences import say

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
    "context limit",
    "exceeds the context length",
    "context length of only",
    "maximum prompt length",
    "model token limit",
    "range of input length",
    "input is too long",
    "too large to process",
    "`max_new_tokens` must be <=",
    "too many tokens",
)
_STATUS_OF_KIND = {
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
    "api_error": 500,
    "timeout_error": 504,
    "server_error": 500,
    "internal_server_error": 500,
    "InternalServerError": 500,
}
"""What the kind of an error within a stream, which has no status of its own, would be as a response."""


class AttemptFailedError(Exception):
    """One attempt at a request failed with `error`; `worth_retrying`: another attempt may succeed.

    parameter: the request field that the provider rejects, if it names one. complaint: the provider's own words.
    retry_after: seconds, if the provider says after how many.
    """

    def __init__(
        self,
        error: ModelError,
        *,
        worth_retrying: bool = False,
        parameter: str | None = None,
        complaint: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.worth_retrying = worth_retrying
        self.parameter = parameter
        self.complaint = complaint
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Exponential backoff with jitter; Retry-After is honoured.

    attempts: tries in all. first_pause, longest_pause: seconds. When a provider asks for more than `longest_pause`, the
    request fails and the caller is told how long it would have been.
    """

    attempts: int = 3
    first_pause: float = 0.5
    longest_pause: float = 20.0

    def pause_after(self, attempt: int, failure: AttemptFailedError) -> float | None:
        """Seconds until the next attempt after attempt number `attempt` (from 1); None: give up."""
        if attempt >= self.attempts or not failure.worth_retrying:
            return None
        asked = failure.retry_after
        if asked is not None:
            return asked if asked <= self.longest_pause else None
        pause = min(self.longest_pause, self.first_pause * 2.0 ** (attempt - 1))
        # Jitter keeps turns that failed together from retrying together.
        return pause * random.uniform(0.5, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Complaint:
    """The error object in a provider's response."""

    message: str = ""
    code: str = ""
    kind: str = ""
    parameter: str | None = None

    @classmethod
    def from_body(cls, body: bytes) -> _Complaint:
        """Read a response body; one that is not JSON is the message itself."""
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError:
            return cls(message=body.decode("utf-8", "replace").strip()[:_LONGEST_QUOTE])
        if isinstance(document, list) and document:
            document = document[0]
        return cls.from_document(document.get("error", document) if isinstance(document, dict) else document)

    @classmethod
    def from_document(cls, error: Any) -> _Complaint:
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
        """Whether prompt and answer exceed the model's window."""
        said = f"{self.code} {self.kind} {self.message}".lower()
        return any(phrase in said for phrase in _TOO_LONG)

    @property
    def says_unsupported(self) -> bool:
        """Whether OpenRouter has the model, but not for what the request asks of it, such as tools."""
        return "found that support" in self.message

    @property
    def says_quota_used_up(self) -> bool:
        """Whether the account has no credit left, so that waiting does not help."""
        return "insufficient_quota" in (self.code, self.kind) or "credit balance" in self.message.lower()


def refusal(status: int, headers: Mapping[str, str], body: bytes, *, model: str) -> AttemptFailedError:
    """The failure that a response with an error status stands for."""
    complaint = _Complaint.from_body(body)
    return _failure(status, complaint, model=model, retry_after=_retry_seconds(headers.get("Retry-After")))


def failure_within_stream(error: Any, *, model: str) -> AttemptFailedError:
    """The failure that an `error` object stands for which arrived as an event of a stream."""
    complaint = _Complaint.from_document(error)
    status = int(complaint.code) if complaint.code.isdecimal() else 0
    status = _STATUS_OF_KIND.get(complaint.kind) or _STATUS_OF_KIND.get(complaint.code) or status
    if status == 0 and not complaint.says_too_long:
        reason = complaint.message
        message = (
            say("model_broke_off_because", model=model, quote=reason) if reason else say("model_broke_off", model=model)
        )
        return AttemptFailedError(ModelFailedError(message, model=model), complaint=complaint.message)
    return _failure(status, complaint, model=model, retry_after=None)


def _failure(status: int, complaint: _Complaint, *, model: str, retry_after: float | None) -> AttemptFailedError:
    error = _error_for(status, complaint, model=model, retry_after=retry_after)
    is_final = complaint.says_quota_used_up or isinstance(error, ContextTooLongError)
    return AttemptFailedError(
        error,
        worth_retrying=status in _WORTH_RETRYING and not is_final,
        parameter=complaint.parameter,
        complaint=complaint.message,
        retry_after=retry_after,
    )


def _error_for(status: int, complaint: _Complaint, *, model: str, retry_after: float | None) -> ModelError:  # noqa: PLR0911
    quote = f": {complaint.message}" if complaint.message else ""
    # "Too many tokens" of a provider's rate limit are no matter of the window.
    if (complaint.says_too_long and status != 429) or status == 413:
        return ContextTooLongError(say("prompt_too_long", model=model, quote=quote), model=model)
    if status in (401, 403):
        return BadCredentialsError(say("key_refused", model=model, status=status, quote=quote), model=model)
    if complaint.says_quota_used_up or status == 402:
        return ModelUnavailableError(say("quota_used_up", model=model, quote=quote), model=model)
    if status == 429:
        return _rate_limited(quote, model=model, retry_after=retry_after)
    if status == 404 and not complaint.says_unsupported:
        return ModelUnknownError(say("model_not_offered", model=model, quote=quote), model=model)
    if status >= 500 or status in (408, 425):
        message = say("provider_out_of_order", model=model, status=status, quote=quote)
        return ModelUnavailableError(message, model=model)
    if 300 <= status < 400:
        message = say("provider_redirects", model=model, status=status)
        return ModelUnavailableError(message, model=model)
    return ModelFailedError(say("request_refused", model=model, status=status, quote=quote), model=model)


def _rate_limited(quote: str, *, model: str, retry_after: float | None) -> ModelRateLimitedError:
    message = say("slow_down", model=model, quote=quote)
    if retry_after:
        message = say("slow_down_for", model=model, seconds=math.ceil(retry_after), quote=quote)
    return ModelRateLimitedError(message, model=model, retry_after=retry_after)


def _retry_seconds(retry_after: str | None) -> float | None:
    """Seconds in a Retry-After header (a number or an HTTP date); None: not stated."""
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
