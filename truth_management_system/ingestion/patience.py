"""How long a person is kept waiting for a model that reads a text part by part."""

from __future__ import annotations

import time

_QUESTIONS_WORTH = 3


class Patience:
    """Ends after so many seconds, or when it is `lost`."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @classmethod
    def of(cls, timeout: float) -> Patience:
        """Enough for a few questions of `timeout` seconds each."""
        return cls(_QUESTIONS_WORTH * timeout)

    def is_over(self) -> bool:
        """Whether nothing more is to be asked."""
        return time.monotonic() >= self._end

    def lose(self) -> None:
        """Ask nothing more: the model does not answer."""
        self._end = float("-inf")
