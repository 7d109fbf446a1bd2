"""Figures for operators, in Prometheus' text format.

Every metric is declared here, so that each has a help text and is told from the start, also before anything happened.
"""

from __future__ import annotations

import os
import platform
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from version import product_version

disable_created_metrics()  # type: ignore[no-untyped-call]

_PREFIX = "anaphora"
_COUNTERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "requests": ("HTTP requests, by route, method and status.", ("method", "route", "status")),
    "refusals": ("Requests refused because there was no room, by error code.", ("code",)),
    "turns": ("Turns that have ended, by how: complete, cancelled, interrupted or failed.", ("outcome",)),
    "tokens": ("Tokens that answers took, by kind: prompt or completion.", ("kind",)),
    "model_failures": ("Failures of language models, by what they were asked for.", ("job",)),
    "tool_calls": ('Tools that models called, by name; those of servers that people joined as "personal".', ("tool",)),
}
_GAUGES = {"turns_running": "Turns that are being answered by this process."}
_FIRST_WORD = "Seconds from the acceptance of a turn to the first word of its answer."
_BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
_READ: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "work_running": ("Requests that threads work on, by kind of work.", ("kind",)),
    "work_waiting": ("Requests that wait for a thread, by kind of work.", ("kind",)),
    "watchers": ("Clients that watch the changes of their things.", ()),
    "jobs": ("Jobs of all processes, by status.", ("status",)),
    "duties": ("Duties that processes hold leases of, all processes together.", ()),
    "broker_up": ("Whether Valkey is reached; absent without REDIS_URL.", ()),
    "store_connections_busy": ("Connections to the store that read.", ()),
    "store_connections": ("Connections to the store that may read.", ()),
    "store_reads_waiting": ("Reads that wait for a connection to the store.", ()),
}
"""What is asked for when the metrics are read."""
_BUILD = ("version", "python")

Reading = Callable[[], Mapping[tuple[str, ...], float]]
"""Values by label values, in the order in which the metric's labels are declared."""


class Metrics:
    """Counters since the start, and gauges of the current state. Thread-safe.

    is_one_of_several: each series names this process, since whichever process accepts a request answers it.
    """

    def __init__(self, *, is_one_of_several: bool = False) -> None:
        self._registry = CollectorRegistry()
        self._counters = {
            name: Counter(f"{_PREFIX}_{name}", text, labels, registry=self._registry)
            for name, (text, labels) in _COUNTERS.items()
        }
        # Of each, the one of its labels: looking it up among all of its name takes nine calls.
        self._series: dict[tuple[Any, ...], Counter] = {}
        self._gauges = {
            name: Gauge(f"{_PREFIX}_{name}", text, registry=self._registry) for name, text in _GAUGES.items()
        }
        self._first_word = Histogram(
            f"{_PREFIX}_first_word_seconds", _FIRST_WORD, buckets=_BUCKETS, registry=self._registry
        )
        self._lock = threading.Lock()
        self._readings: dict[str, Reading] = {}
        self._process = f"{socket.gethostname()}:{os.getpid()}" if is_one_of_several else None

    def count(self, name: str, /, by: int = 1, **labels: str) -> None:
        """Raise the counter `anaphora_<name>_total`. Raises KeyError for one that is not declared."""
        series = (name, *labels.items())
        counter = self._series.get(series)
        if counter is None:
            counter = self._series[series] = self._counters[name].labels(**labels)
        counter.inc(by)

    def change(self, name: str, by: int) -> None:
        """Raise or lower the gauge `anaphora_<name>`."""
        self._gauges[name].inc(by)

    def observe_first_word(self, seconds: float) -> None:
        """Note how long somebody waited for the first word of an answer."""
        self._first_word.observe(seconds)

    def read(self, name: str, reading: Reading) -> None:
        """Ask `reading` for the gauge `anaphora_<name>` whenever the metrics are read."""
        if name not in _READ:
            raise KeyError(name)
        with self._lock:
            self._readings[name] = reading

    def value(self, name: str, **labels: str) -> int:
        """The counter `name` with exactly these labels."""
        return int(self._registry.get_sample_value(f"{_PREFIX}_{name}_total", labels) or 0)

    def render(self) -> str:
        """All metrics with their help, those that are read now included; one that can't be read has no value."""
        return str(generate_latest(self).decode())

    def collect(self) -> Iterator[Metric]:
        """The families of all metrics, for `generate_latest`."""
        for family in (*self._registry.collect(), *self._read_families()):
            yield family if self._process is None else _of_process(family, self._process)

    def _read_families(self) -> Iterator[Metric]:
        with self._lock:
            readings = dict(self._readings)
        yield _build_info()
        for name, (text, labels) in _READ.items():
            family = GaugeMetricFamily(f"{_PREFIX}_{name}", text, labels=labels)
            for values, number in readings.get(name, dict)().items():
                family.add_metric(values, number)
            yield family


def _build_info() -> Metric:
    """Which program this is: 1, with its version and Python's as labels."""
    family = GaugeMetricFamily(f"{_PREFIX}_build_info", "The program, by its version and Python's; 1.", labels=_BUILD)
    family.add_metric((product_version(), platform.python_version()), 1)
    return family


def _of_process(family: Metric, process: str) -> Metric:
    """The family, with the process in the labels of each of its samples."""
    named = Metric(family.name, family.documentation, family.type)
    samples: list[Any] = [each._replace(labels={**each.labels, "process": process}) for each in family.samples]
    named.samples = samples
    return named


class TurnWatch:
    """Tells the metrics of one turn as its events pass, from the moment that it is accepted."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._began: float | None = time.monotonic()
        self._usage: dict[str | None, Mapping[str, Any]] = {}

    def see(self, event: Mapping[str, Any]) -> None:
        """Note the first word, the tokens and the end."""
        if self._began is not None and event.get("text"):
            self._metrics.observe_first_word(time.monotonic() - self._began)
            self._began = None
        if "usage" in event:
            # Each tells all that its answer has taken until then.
            self._usage[event.get("message_id")] = event["usage"]
        if "done" in event:
            self._count(str(event.get("answer_status") or "complete"))

    def _count(self, outcome: str) -> None:
        self._metrics.count("turns", outcome=outcome)
        for kind in ("prompt", "completion"):
            tokens = sum(int(usage.get(f"{kind}_tokens") or 0) for usage in self._usage.values())
            self._metrics.count("tokens", tokens, kind=kind)
