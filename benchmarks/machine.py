"""How fast this machine is now: a fixed piece of Python, of JSON, of SQLite and of loopback, in a few seconds.

`benchmarks/reference.toml` has the same figures of the reference machine, on which the budgets hold. It never changes;
how it was made stands in it. `python -m benchmarks.machine` prints both side by side.
"""

from __future__ import annotations

import itertools
import json
import math
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

REFERENCE = Path(__file__).parent / "reference.toml"
_ROUNDS = 300
# Pieces of about a millisecond, as long as what the budgets are about: what runs beside it seldom comes in between.
_NUMBERS = 8_000
_DOCUMENTS = 2
_ROWS = 50
_TRIPS = 50


@dataclass(frozen=True)
class Machine:
    """Milliseconds of each piece of work, by its name; and how often the reference machine would do it meanwhile."""

    pieces: Mapping[str, float]
    reference: Mapping[str, float]

    @cached_property
    def factor(self) -> float:
        """How much longer this machine takes than the reference machine: the geometric mean over all pieces."""
        ratios = [self.pieces[name] / milliseconds for name, milliseconds in self.reference.items()]
        return math.exp(statistics.fmean(map(math.log, ratios)))

    def corrected(self, value: float) -> float:
        """What a time measured here would have been on the reference machine."""
        return value / self.factor


def measure(rounds: int = _ROUNDS) -> Machine:
    """Measure this machine: of each piece the lower quartile, which other work seldom reaches.

    The pieces take turns, so that all of them meet the same other work.
    """
    with _rows() as sqlite_piece, _echo() as loopback:
        pieces = {"python": _python, "json": _json, "sqlite": sqlite_piece, "loopback": loopback}
        samples: dict[str, list[float]] = {name: [] for name in pieces}
        for _ in range(rounds):
            for name, work in pieces.items():
                begun = time.perf_counter()
                work()
                samples[name].append((time.perf_counter() - begun) * 1_000)
    quartiles = {name: statistics.quantiles(measured, n=4, method="inclusive")[0] for name, measured in samples.items()}
    return Machine(pieces=quartiles, reference=reference())


def reference() -> dict[str, float]:
    """Milliseconds of the reference machine by the name of the piece."""
    with REFERENCE.open("rb") as file:
        return dict(tomllib.load(file)["milliseconds"])


def _python() -> None:
    words: dict[int, int] = {}
    for number in range(_NUMBERS):
        key = number * 2_654_435_761 % 4_093
        words[key] = words.get(key, 0) + number % 7
    assert len(words) == 4_093


def _json() -> None:
    row = {"id": "5f2c", "text": "What follows from that for the window of the index? " * 8, "n": 3, "ok": True}
    document = {"rows": [row | {"n": number} for number in range(200)], "next": None}
    for _ in range(_DOCUMENTS):
        assert len(json.loads(json.dumps(document))["rows"]) == 200


@contextmanager
def _rows() -> Iterator[Callable[[], None]]:
    """A transaction that inserts, and as many reads by key."""
    numbers = itertools.count()
    with tempfile.TemporaryDirectory() as folder, closing(_database(folder)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("CREATE TABLE rows (name TEXT PRIMARY KEY, text TEXT NOT NULL)")

        def insert_and_read() -> None:
            names = [f"row {next(numbers)}" for _ in range(_ROWS)]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO rows VALUES (?, ?)", [(name, "words " * 40) for name in names])
            connection.execute("COMMIT")
            for name in names:
                assert connection.execute("SELECT text FROM rows WHERE name = ?", (name,)).fetchone() is not None

        yield insert_and_read


def _database(folder: str) -> sqlite3.Connection:
    return sqlite3.connect(Path(folder) / "machine.db", isolation_level=None)


@contextmanager
def _echo() -> Iterator[Callable[[], None]]:
    """Round trips of 64 bytes to another process."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        child = subprocess.Popen([sys.executable, "-c", _ECHO, str(server.getsockname()[1])])
        connection, _ = server.accept()
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

            def trips() -> None:
                for _ in range(_TRIPS):
                    connection.sendall(b"x" * 64)
                    assert connection.recv(64)

            yield trips
        child.wait()


_ECHO = """
import socket, sys
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as connection:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while received := connection.recv(64):
        connection.sendall(received)
"""


def main() -> None:
    """Print what was measured, and the reference beside it."""
    machine = measure()
    for name, milliseconds in machine.pieces.items():
        known = machine.reference[name]
        sys.stdout.write(f"{name}: {milliseconds:.3f} ms, {milliseconds / known:.2f} of the reference machine's\n")
    sys.stdout.write(f"all together: {machine.factor:.2f}\n")


if __name__ == "__main__":
    main()
