"""Measures how fast a model reads prompts and writes answers."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from statistics import linear_regression
from typing import Any

from language_models.ports import Speed, Usage
from sentences import say

_FEWEST_READ = 32
_FEWEST_WRITTEN = 8
_LONG_PROMPT = 256
_STEP = 5
_WEIGHT = 0.5
"""Weight of a new measurement in the moving average."""
_SPREAD = 512
"""Tokens by which the longest prompt exceeds the shortest before their difference in time is more than chance."""
_LONG_ENOUGH = 1_024
"""Tokens of a prompt beside which a provider's latency counts for little."""


class SpeedMeter:
    """Moving average of one model's speed. Safe to use from any thread."""

    def __init__(self) -> None:
        self._speed = Speed()
        self._first_tokens = _FirstTokens()
        self._lock = threading.Lock()

    def speed(self) -> Speed:
        """Tokens per second; None: not measured yet."""
        return self._speed

    def note_reading(self, *, tokens: int, seconds: float) -> None:
        """Record that `tokens` uncached prompt tokens took `seconds`; a short prompt is ignored."""
        if tokens >= _FEWEST_READ and seconds > 0:
            with self._lock:
                self._speed = replace(self._speed, reading=_averaged(self._speed.reading, tokens / seconds))

    def note_first_token(self, *, tokens: int, seconds: float) -> None:
        """Record that the first token came `seconds` after a request with `tokens` uncached prompt tokens.

        A short prompt is ignored.
        """
        if tokens >= _FEWEST_READ and seconds > 0:
            with self._lock:
                self._first_tokens.note(tokens, seconds)
                reading, latency = self._first_tokens.fit()
                self._speed = replace(self._speed, reading=reading, latency=latency)

    def note_writing(self, *, tokens: int, seconds: float) -> None:
        """Record that `tokens` answer tokens took `seconds`; a short answer is ignored."""
        if tokens >= _FEWEST_WRITTEN and seconds > 0:
            with self._lock:
                self._speed = replace(self._speed, writing=_averaged(self._speed.writing, tokens / seconds))

    def note_timings(self, timings: Mapping[str, Any]) -> None:
        """Record the `timings` of llama.cpp's server: `prompt_n` tokens read in `prompt_ms`, `predicted_n` written.

        Timings of another shape are ignored, so that no answer fails because of them.
        """
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            self.note_reading(tokens=int(timings["prompt_n"]), seconds=float(timings["prompt_ms"]) / 1000)
            self.note_writing(tokens=int(timings["predicted_n"]), seconds=float(timings["predicted_ms"]) / 1000)

    def reading_left(self, progress: Any) -> str | None:
        """A sentence with the time left to read a prompt, by the `prompt_progress` of llama.cpp's server.

        None for a short or finished prompt, and for progress of another shape.
        """
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            total, cached, done = (int(progress[field]) for field in ("total", "cache", "processed"))
            seconds = float(progress["time_ms"]) / 1000
            if total - cached < _LONG_PROMPT or done >= total:
                return None
            speed = (done - cached) / seconds if done > cached and seconds > 0 else self._speed.reading
            if not speed:
                return say("model_reading")
            return say("model_reading_left", tokens=total - cached, seconds=in_steps((total - done) / speed))
        return None


class _FirstTokens:
    """Separates reading speed from latency: the time to the first token is latency + tokens / speed.

    Each size of prompts (32 to 63 tokens, 64 to 127, ...) has a moving average of its own, so that many short requests
    don't make the few long ones forgotten: only those say how fast a distant model reads.
    """

    def __init__(self) -> None:
        self._averages: dict[int, tuple[float, float]] = {}

    def note(self, tokens: int, seconds: float) -> None:
        """Add a request to the average of its size."""
        before = self._averages.get(tokens.bit_length(), (None, None))
        self._averages[tokens.bit_length()] = (_averaged(before[0], tokens), _averaged(before[1], seconds))

    def fit(self) -> tuple[float | None, float]:
        """Tokens per second, and seconds of latency, as far as the prompts tell them apart.

        Prompts of one size, if it is a long one, show how fast the model reads at least; short ones show nothing.
        """
        tokens, seconds = zip(*(self._averages[size] for size in sorted(self._averages)), strict=True)
        slowest = tokens[-1] / seconds[-1]
        if tokens[-1] - tokens[0] < _SPREAD:
            return (slowest if tokens[-1] >= _LONG_ENOUGH else None), 0.0
        slope, latency = linear_regression(tokens, seconds)
        if latency < 0:
            slope, latency = linear_regression(tokens, seconds, proportional=True)
        return (1 / slope if slope > 0 else slowest), latency


def in_steps(seconds: float) -> int:
    """An estimate rounded up to a multiple of five seconds, at least five."""
    return max(_STEP, _STEP * math.ceil(seconds / _STEP))


class Stopwatch:
    """Times one streamed request, for providers that send no timings."""

    __slots__ = ("_first_at", "_last_at", "_started")

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._first_at: float | None = None
        self._last_at = self._started

    def tick(self) -> None:
        """A token of the answer, or of the thinking before it, has arrived."""
        self._last_at = time.monotonic()
        if self._first_at is None:
            self._first_at = self._last_at

    def tell(self, meter: SpeedMeter, usage: Usage) -> None:
        """Record the speed of the whole request, unless no token arrived."""
        if self._first_at is None:
            return
        # A model that thinks may have done so, unseen, before the first token.
        if not usage.reasoning_tokens:
            read = usage.prompt_tokens - usage.cached_tokens
            meter.note_first_token(tokens=read, seconds=self._first_at - self._started)
            meter.note_writing(tokens=usage.completion_tokens, seconds=self._last_at - self._first_at)


def _averaged(before: float | None, latest: float) -> float:
    return latest if before is None else before + _WEIGHT * (latest - before)
