"""Many clients at once: `python -m benchmarks.load`, a process of its own, which reads a `Load` as JSON from its input.

Each client sends one message and reads the answer to its end. What came of it is printed as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import orjson
import uvloop

from tests.live_server import ROOT

_SETTLE = 1.5
_HEALTH_EVERY = 0.05
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What to do: send `text` to each conversation, the beginnings spread over `spread` seconds.

    cookies: the sessions of those who send, in turn. server_pid: whose CPU time is counted.
    """

    port: int
    cookies: Sequence[str]
    conversation_ids: Sequence[str]
    server_pid: int
    text: str = "Tick, please."
    spread: float = 0.0
    timeout: float = 120.0


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of it. Times are in milliseconds.

    first: from sending to the first word's arrival. handed_over: from sending to the model's having the request. lags:
    from a word's leaving the model to its arrival here, once all are streaming (`settled`). health: of `/healthz`
    meanwhile. answers: by conversation, the text as it was streamed, of those that came to their end. cpu_ms_a_word: of
    the server, while all were streaming; 0 where that never was. peak_kb: the most memory of its own that the server
    held.
    """

    first: list[float] = field(default_factory=list)
    handed_over: list[float] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    cpu_ms_a_word: float = 0.0
    peak_kb: int = 0
    words: int = 0
    settled: bool = False


class Watcher(asyncio.Protocol):
    """One client: sends its request when connected, and reads lines of events until the last."""

    def __init__(self, request: bytes, conversation_id: str, outcome: Outcome) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request = request
        self._conversation_id = conversation_id
        self._outcome = outcome
        self._tail = b""
        self._text: list[str] = []
        self._sent = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send."""
        self._transport = cast(asyncio.Transport, transport)
        self._sent = time.monotonic_ns()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        """Read whole lines; those that are no events belong to HTTP."""
        arrived = time.monotonic_ns()
        *lines, self._tail = (self._tail + data).split(b"\n")
        for line in lines:
            if line.startswith(b"HTTP/1.1 ") and not line.startswith(b"HTTP/1.1 200"):
                self._end(line.decode())
            elif line.startswith(b'{"seq"'):
                self._read(orjson.loads(line), arrived)

    def connection_lost(self, exc: Exception | None) -> None:
        """An answer that has not ended was cut off."""
        self._end("cut off")

    def _read(self, event: dict[str, Any], arrived: int) -> None:
        if text := event["text"]:
            self._note_words([int(word) for word in text.split()], arrived)
            self._text.append(text)
        if "error" in event:
            self._end(str(event["error"]))
        elif "done" in event:
            self._outcome.answers[self._conversation_id] = "".join(self._text)
            self._end(None)

    def _note_words(self, words: Sequence[int], arrived: int) -> None:
        if not self._text:
            self._outcome.first.append((arrived - self._sent) / 1e6)
            self._outcome.handed_over.append((words[0] - self._sent) / 1e6)
        self._outcome.words += len(words)
        if self._outcome.settled:
            self._outcome.lags += [(arrived - word) / 1e6 for word in words]

    def _end(self, failure: str | None) -> None:
        if self.done.done():
            return
        if failure is not None:
            self._outcome.failures.append(failure)
        self.done.set_result(None)
        self._transport.close()


async def put_on(load: Load) -> Outcome:
    """Carry out `load`."""
    outcome = Outcome()
    pause = load.spread / len(load.conversation_ids)
    beside = [asyncio.create_task(_watch_health(load, outcome)), asyncio.create_task(_count_cpu(load, outcome))]
    clients = [
        _client(load, number * pause, one, outcome, cookie=load.cookies[number % len(load.cookies)])
        for number, one in enumerate(load.conversation_ids)
    ]
    await asyncio.gather(*clients)
    for task in beside:
        task.cancel()
    await asyncio.gather(*beside, return_exceptions=True)
    return outcome


async def _client(load: Load, delay: float, conversation_id: str, outcome: Outcome, *, cookie: str) -> None:
    await asyncio.sleep(delay)
    body = orjson.dumps({"messageText": load.text})
    request = _request(load, "POST", f"/send_message/{conversation_id}", body, cookie=cookie)
    _, watcher = await asyncio.get_running_loop().create_connection(
        lambda: Watcher(request, conversation_id, outcome), "127.0.0.1", load.port
    )
    try:
        async with asyncio.timeout(load.timeout):
            await watcher.done
    except TimeoutError:
        outcome.failures.append("timed out")


async def _watch_health(load: Load, outcome: Outcome) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", load.port)
    request = _request(load, "GET", "/healthz", b"", cookie=load.cookies[0])
    while True:
        begun = time.monotonic_ns()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if b"content-length" in line)
        await reader.readexactly(length)
        outcome.health.append((time.monotonic_ns() - begun) / 1e6)
        await asyncio.sleep(_HEALTH_EVERY)


async def _count_cpu(load: Load, outcome: Outcome) -> None:
    """CPU time a word, from when all have their first word until the first answer has ended."""
    total, before = len(load.conversation_ids), None
    while True:
        await asyncio.sleep(_HEALTH_EVERY)
        outcome.peak_kb = max(outcome.peak_kb, resident_kb(load.server_pid, "RssAnon"))
        if len(outcome.first) < total or outcome.answers:
            continue
        if before is None:
            await asyncio.sleep(_SETTLE)
            outcome.settled = True
            before = (cpu_ms(load.server_pid), outcome.words)
        elif outcome.words > before[1]:
            outcome.cpu_ms_a_word = (cpu_ms(load.server_pid) - before[0]) / (outcome.words - before[1])


def _request(load: Load, method: str, path: str, body: bytes, *, cookie: str) -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{load.port}\r\nOrigin: http://127.0.0.1:{load.port}\r\n"
        f"Cookie: {cookie}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def cpu_ms(pid: int) -> float:
    """CPU time that a process has used, all its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1_000 / _TICKS


def resident_kb(pid: int, kind: str = "VmRSS") -> int:
    """Memory that a process holds; `RssAnon` leaves out the pages of files that it has mapped."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{kind}:"))


def from_a_process(load: Load) -> Outcome:
    """`put_on`, by a process of its own."""
    command = [sys.executable, "-m", "benchmarks.load"]
    # A file takes all of it at once; of a pipe, into which a loop has been writing, the end got lost.
    with tempfile.TemporaryFile("w+") as said:
        subprocess.run(
            command, cwd=ROOT, input=json.dumps(asdict(load)), stdout=said, text=True, check=True, timeout=300
        )
        said.seek(0)
        return Outcome(**json.load(said))


def main() -> None:
    """Read what to do, do it, print what came of it."""
    print(json.dumps(asdict(uvloop.run(put_on(Load(**json.load(sys.stdin)))))))


if __name__ == "__main__":
    main()
