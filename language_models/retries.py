"""When a failed attempt is made again, and after how long."""

from __future__ import annotations

import random
from dataclasses import dataclass

from language_models.errors import ModelRateLimitedError
from language_models.refusals import AttemptFailedError


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
