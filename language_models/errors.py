"""What can go wrong with a language model.

ModelError
 ├─ ModelUnavailableError    none configured, not reachable, still being fetched and not to be had
 │   └─ ModelUnknownError    the provider has no such model
 ├─ ModelRateLimitedError    the provider asks us to wait
 ├─ ContextTooLongError      prompt and answer do not fit the context window
 ├─ ModelNotAllowedError     the operator does not let this person use it
 ├─ BadCredentialsError      the provider refuses the key
 └─ ModelFailedError         it broke off, or answered nonsense
"""

from __future__ import annotations


class ModelError(Exception):
    """A language model could not do what was asked. `message` is one sentence for a person."""

    code = "model_failed"

    def __init__(self, message: str, *, model: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.model = model


class ModelUnavailableError(ModelError):
    """No model is configured, or it cannot be reached or loaded."""

    code = "model_unavailable"


class ModelUnknownError(ModelUnavailableError):
    """The provider has no model of that name, or has it no more."""


class ModelRateLimitedError(ModelError):
    """The provider asks us to slow down. `retry_after` is in seconds, or None where it did not say."""

    code = "model_rate_limited"

    def __init__(self, message: str, *, model: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, model=model)
        self.retry_after = retry_after


class ContextTooLongError(ModelError):
    """Prompt and answer do not fit the model's context window."""

    code = "context_too_long"


class ModelNotAllowedError(ModelError):
    """The operator does not let this person use the model, or have it fetched."""

    code = "model_not_allowed"


class BadCredentialsError(ModelError):
    """The provider refuses the API key."""

    code = "bad_credentials"


class ModelFailedError(ModelError):
    """The model broke off or answered something that is no answer."""

    code = "model_failed"
