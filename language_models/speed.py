"""Measures how fast a model reads prompts and writes answers."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Mapping
from typing import Any

from language_models.ports import Speed, Usage

_FEWEST_READ = 32
_FEWEST_WRITTEN = 8
_LONG_PROMPT = 256
_STEP = 5
_WEIGHT = 0.5
"""Of a new measurement against those before: what a machine or provider did lately counts most."""


class SpeedMeter:
    """The speed of one model, averaged over its latest calls. Any thread may use it."""

    def __init__(self) -> None:
        self._speed = Speed()
        self._lock = threading.Lock()

    def speed(self) -> Speed:
        """Tokens per second; None for what was not measured yet."""
        return self._speed

    def note_reading(self, *, tokens: int, seconds: float) -> None:
        """Note that `tokens` of a prompt, none of them cached, took `seconds`. Too few tokens tell nothing."""
        if tokens >= _FEWEST_READ and seconds > 0:
            with self._lock:
                reading = _averaged(self._speed.reading, tokens / seconds)
                self._speed = Speed(reading=reading, writing=self._speed.writing)

    def note_writing(self, *, tokens: int, seconds: float) -> None:
        """Note that `tokens` of an answer took `seconds`. Too few tokens tell nothing."""
        if tokens >= _FEWEST_WRITTEN and seconds > 0:
            with self._lock:
                writing = _averaged(self._speed.writing, tokens / seconds)
                self._speed = Speed(reading=self._speed.reading, writing=writing)

    def note_timings(self, timings: Mapping[str, Any]) -> None:
        """Note the `timings` of llama.cpp's server: `prompt_n` tokens read in `prompt_ms`, `predicted_n` written.

        Timings in another shape are passed over: no answer fails for them.
        """
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            self.note_reading(tokens=int(timings["prompt_n"]), seconds=float(timings["prompt_ms"]) / 1000)
            self.note_writing(tokens=int(timings["predicted_n"]), seconds=float(timings["predicted_ms"]) / 1000)

    def reading_left(self, progress: Any) -> str | None:
        """How long a prompt will go on being read, by the `prompt_progress` of llama.cpp's server.

        None for a prompt that is read soon, and for a progress in another shape.
        """
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):
            total, cached, done = (int(progress[field]) for field in ("total", "cache", "processed"))
            seconds = float(progress["time_ms"]) / 1000
            if total - cached < _LONG_PROMPT or done >= total:
                return None
            speed = (done - cached) / seconds if done > cached and seconds > 0 else self._speed.reading
            if not speed:
                return "The model is reading your message and what goes with it."
            return f"The model is reading: about {in_steps((total - done) / speed)} s left."
        return None


def in_steps(seconds: float) -> int:
    """An estimate as people tell it: whole steps of five seconds, at least one."""
    return max(_STEP, _STEP * math.ceil(seconds / _STEP))


class Stopwatch:
    """Times one streamed call of a provider that doesn't tell its own timings."""

    __slots__ = ("_first_at", "_last_at", "_started")

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._first_at: float | None = None
        self._last_at = self._started

    def tick(self) -> None:
        """Something of the answer has come, or of the thinking before it."""
        self._last_at = time.monotonic()
        if self._first_at is None:
            self._first_at = self._last_at

    def tell(self, meter: SpeedMeter, usage: Usage) -> None:
        """Note what the whole call showed. A call of which nothing came shows nothing."""
        if self._first_at is None:
            return
        # Before the first word the model may also have thought, unseen.
        if not usage.reasoning_tokens:
            read = usage.prompt_tokens - usage.cached_tokens
            meter.note_reading(tokens=read, seconds=self._first_at - self._started)
            meter.note_writing(tokens=usage.completion_tokens, seconds=self._last_at - self._first_at)


def _averaged(before: float | None, latest: float) -> float:
    return latest if before is None else before + _WEIGHT * (latest - before)
