"""What the server takes before it does anything: time to start, memory, disk, and what it works at rest."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.live_server import ROOT, LiveServer

from ..figures import Figure, of_samples
from ..load import cpu_ms, resident_kb
from ..seeded import Bench

_ROUNDS = 5
_SETTLE_SECONDS, _REST_SECONDS = 15.0, 20.0
_EMBEDDED = ("xllamacpp", "onnxruntime", "tokenizers", "numpy")


def start(bench: Bench) -> Iterator[Figure]:
    """From starting the process to the first page, and what it holds then; without an embedded model."""
    seconds, kilobytes = list[float](), list[float]()
    for number in range(_ROUNDS):
        server = LiveServer(bench.scratch(f"start-{number}"))
        begun = time.perf_counter()
        server.start()
        try:
            assert server.client().get("/login").status in (200, 302, 303)
            seconds.append(time.perf_counter() - begun)
            assert server.process is not None
            kilobytes.append(resident_kb(server.process.pid))
        finally:
            server.stop()
    yield of_samples("start to first page", seconds, unit="s", budget=1.5)
    yield Figure(
        name="idle memory", value=statistics.median(kilobytes) / 1_024, unit="MB", budget=120.0, samples=_ROUNDS
    )


def rest(bench: Bench) -> Iterator[Figure]:
    """The share of a core that a server uses which nobody asks for anything, on SQLite, without an embedded model."""
    server = LiveServer(bench.scratch("rest"))
    server.start()
    try:
        assert server.process is not None
        time.sleep(_SETTLE_SECONDS)
        samples = list[float]()
        for _ in range(_ROUNDS):
            before, begun = cpu_ms(server.process.pid), time.perf_counter()
            time.sleep(_REST_SECONDS)
            samples.append((cpu_ms(server.process.pid) - before) / (time.perf_counter() - begun) / 10)
    finally:
        server.stop()
    yield Figure(name="CPU at rest", value=statistics.median(samples), unit="% of a core", samples=_ROUNDS)


def install(bench: Bench) -> Iterator[Figure]:
    """An environment with the pinned packages alone, and the assets of the page; models apart.

    The embedded runtime is what runs models in here, those that embed too.
    """
    assets = _megabytes(ROOT / "interface" / "static" / "vendor")
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    lean = [line for line in lines if not line.startswith(_EMBEDDED)]
    yield Figure(
        name="install without the embedded runtime",
        value=_environment(bench, "lean", lean) + assets,
        unit="MB",
        budget=150.0,
    )
    yield Figure(
        name="install with the embedded runtime",
        value=_environment(bench, "whole", lines) + assets,
        unit="MB",
        budget=450.0,
    )


def _environment(bench: Bench, name: str, requirements: Sequence[str]) -> float:
    folder = bench.scratch(name)
    wanted = folder / "requirements.txt"
    text = "\n".join(requirements).replace("-c constraints.txt", f"-c {ROOT / 'constraints.txt'}")
    wanted.write_text(f"{text}\n", encoding="utf-8")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = str(folder / "venv" / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", str(wanted)], check=True)
    return _megabytes(folder / "venv")


def _megabytes(folder: Path) -> float:
    """Disk space of all files below, in blocks as the file system gives them."""
    return sum(file.lstat().st_blocks * 512 for file in folder.rglob("*")) / 1_000_000
