"""The errors of language models.

ModelError
 ├─ ModelUnavailableError    not configured, not reachable, or its file cannot be downloaded
 │   └─ ModelUnknownError    the provider has no such model
 ├─ ModelRateLimitedError    the provider's rate limit is reached
 ├─ ContextTooLongError      prompt and answer exceed the context window
 ├─ ModelNotAllowedError     the operator does not allow it for this user
 ├─ BadCredentialsError      the provider refuses the API key
 └─ ModelFailedError         its answer ended early or is invalid
"""

from __future__ import annotations


class ModelError(Exception):
    """A request to a language model failed. `message` is one sentence for the user."""

    code = "model_failed"

    def __init__(self, message: str, *, model: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.model = model


class ModelUnavailableError(ModelError):
    """No model is configured, or it cannot be reached or loaded."""

    code = "model_unavailable"


class ModelUnknownError(ModelUnavailableError):
    """The provider has no model of that name."""


class ModelRateLimitedError(ModelError):
    """The provider's rate limit is reached.

    retry_after: seconds, or None if the provider does not say.
    """

    code = "model_rate_limited"

    def __init__(self, message: str, *, model: str | None = None, retry_after: float | None = None) -> None:
        super().__init__(message, model=model)
        self.retry_after = retry_after


class ContextTooLongError(ModelError):
    """Prompt and answer exceed the model's context window."""

    code = "context_too_long"


class ModelNotAllowedError(ModelError):
    """The operator does not allow this user to use the model, or to download it."""

    code = "model_not_allowed"


class BadCredentialsError(ModelError):
    """The provider refuses the API key."""

    code = "bad_credentials"


class ModelFailedError(ModelError):
    """The model's answer ended early or is invalid."""

    code = "model_failed"
