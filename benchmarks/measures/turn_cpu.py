"""What a turn costs the server until its first word: CPU time of the whole process, of all its threads.

`python -m benchmarks turn_cpu` measures this code; with `--beside FOLDER`, another state of it, in turn with this one,
so that both meet the same other work: what counts is the ratio of the two.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.http_client import Client
from tests.live_server import ROOT, LiveServer

from ..fake_model import running, settings_for
from ..figures import Figure
from ..seeded import EMAIL, Bench

_ROUNDS = 5
_TURNS = 40
_WARM = 5
_SETTLED = 0.06
"""Seconds after which a turn does nothing any more: its title is made, its events are stored."""
_IDLE_SHARE = 0.05
"""Of a core: a process that uses less does nothing that could hold up a turn."""


def turn_cpu(bench: Bench) -> Iterator[Figure]:
    """The median turn of each round; the rounds of both states alternate."""
    states = {"": ROOT} if bench.beside is None else {"": ROOT, f" in {bench.beside.name}": bench.beside}
    medians: dict[str, list[float]] = {name: [] for name in states}
    for _ in range(_ROUNDS):
        for name, root in states.items():
            medians[name].append(_round(bench.scratch("turn_cpu"), root))
    for name, measured in medians.items():
        yield Figure(
            name=f"CPU of a turn until its first word{name}", value=statistics.median(measured), samples=len(measured)
        )
    if bench.beside is not None:
        ratios = [mine / other for mine, other in zip(*medians.values(), strict=True)]
        yield Figure(name="the same, of the other state's", value=statistics.median(ratios), unit="×", budget=0.5)


def _round(folder: Path, root: Path) -> float:
    with _server(folder, root) as server:
        client = server.sign_up(EMAIL)
        assert server.process is not None
        samples = [_until_the_first_word(client, server.process.pid) for _ in range(_WARM + _TURNS)]
    return statistics.median(samples[_WARM:])


def _until_the_first_word(client: Client, pid: int) -> float:
    conversation_id = client.create_conversation()
    time.sleep(_SETTLED)
    before = cpu_ms(pid)
    for event in client.send(conversation_id, "What follows from this?"):
        if event["text"]:
            break
    used = cpu_ms(pid) - before
    time.sleep(_SETTLED)
    return used


def cpu_ms(pid: int) -> float:
    """CPU time that the threads of a process have used, to the nanosecond, which `/proc/PID/stat` has only in ticks."""
    used = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that ended just now
            used += int((task / "schedstat").read_text().split()[0])
    return used / 1e6


def wait_until_idle(pid: int) -> None:
    """Wait while a process works by itself: after its start it checks a large store, after a turn it sums up."""
    busy = True
    while busy:
        before = cpu_ms(pid)
        time.sleep(_SETTLED)
        busy = cpu_ms(pid) - before > _IDLE_SHARE * _SETTLED * 1000


@contextmanager
def _server(folder: Path, root: Path) -> Iterator[LiveServer]:
    limits = {"ANAPHORA_CONTEXT_WINDOW": "32000", "ANAPHORA_TURNS_PER_PERSON": "1000"}
    with running() as address:
        server = LiveServer(folder, settings_for(address, "holding") | limits, root=root)
        try:
            yield server.start()
        finally:
            server.kill()
