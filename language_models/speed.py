"""Measures how fast a model reads prompts and writes answers."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Mapping
from typing import Any

from language_models.ports import Speed, Usage
from sentences import say

_FEWEST_READ = 32
_FEWEST_WRITTEN = 8
_LONG_PROMPT = 256
_STEP = 5
_WEIGHT = 0.5
"""Weight of a new measurement in the moving average."""


class SpeedMeter:
    """Moving average of one model's speed. Safe to use from any thread."""

    def __init__(self) -> None:
        self._speed = Speed()
        self._lock = threading.Lock()

    def speed(self) -> Speed:
        """Tokens per second; None: not measured yet."""
        return self._speed

    def note_reading(self, *, tokens: int, seconds: float) -> None:
        """Record that `tokens` uncached prompt tokens took `seconds`; a short prompt is ignored."""
        if tokens >= _FEWEST_READ and seconds > 0:
            with self._lock:
                reading = _averaged(self._speed.reading, tokens / seconds)
                self._speed = Speed(reading=reading, writing=self._speed.writing)

    def note_writing(self, *, tokens: int, seconds: float) -> None:
        """Record that `tokens` answer tokens took `seconds`; a short answer is ignored."""
        if tokens >= _FEWEST_WRITTEN and seconds > 0:
            with self._lock:
                writing = _averaged(self._speed.writing, tokens / seconds)
                self._speed = Speed(reading=self._speed.reading, writing=writing)

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
            meter.note_reading(tokens=read, seconds=self._first_at - self._started)
            meter.note_writing(tokens=usage.completion_tokens, seconds=self._last_at - self._first_at)


def _averaged(before: float | None, latest: float) -> float:
    return latest if before is None else before + _WEIGHT * (latest - before)
