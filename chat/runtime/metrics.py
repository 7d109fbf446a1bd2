"""Counters for operators, in Prometheus' text format."""

from __future__ import annotations

import threading
from collections import Counter

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Metrics:
    """Counters since the start, and gauges of the current state. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._gauges: Counter[str] = Counter()

    def count(self, name: str, **labels: str) -> None:
        """Increment the counter `anaphora_<name>_total`."""
        with self._lock:
            self._counts[_series(f"{name}_total", labels)] += 1

    def change(self, name: str, by: int) -> None:
        """Raise or lower the gauge `anaphora_<name>`."""
        with self._lock:
            self._gauges[_series(name, {})] += by

    def value(self, name: str, **labels: str) -> int:
        """The counter `name` with exactly these labels."""
        with self._lock:
            return self._counts[_series(f"{name}_total", labels)]

    def render(self) -> str:
        """All series, one a line, sorted."""
        with self._lock:
            lines = [f"{series} {value}" for series, value in (*self._counts.items(), *self._gauges.items())]
        return "\n".join(sorted(lines)) + "\n"


def _series(name: str, labels: dict[str, str]) -> str:
    inside = ",".join(f'{key}="{value.translate(_ESCAPES)}"' for key, value in sorted(labels.items()))
    return f"anaphora_{name}{{{inside}}}" if inside else f"anaphora_{name}"
