"""An OpenAI-compatible model that says time stamps: `python -m benchmarks.fake_model`, a process of its own.

The name of the model that a request asks for says how it answers: `ticking-100-20` says 100 words, 20 a second, each
the time at which it was sent, the first as soon as the request is there; `holding` says one word and then nothing;
any other name says a title at once. Times are nanoseconds of the machine's monotonic clock. It prints its port when it
is ready.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import uvloop

from tests.live_server import ROOT

_TICKING = re.compile(rb'"model":\s*"ticking-(\d+)-(\d+)"')
_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
_HANGING = re.compile(rb'"model": ?"hanging"')
_LAST = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


class FakeModel(asyncio.Protocol):
    """One connection; requests on it come one after the other."""

    def __init__(self) -> None:
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self._left = 0
        self._pause = 0.0
        self._due = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to answer."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop ticking."""
        self._transport = None

    def data_received(self, data: bytes) -> None:
        """Answer as soon as the whole request is here."""
        self._received += data
        head, found, body = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not found or (length and len(body) < int(length[1])):
            return
        self._received = b""
        ticking = _TICKING.search(body)
        if _HANGING.search(body):
            return
        if ticking:
            self._begin(int(ticking[1]), int(ticking[2]))
        elif b'"holding"' in body:
            self._send(_HEAD + _chunk(_said(f"{time.monotonic_ns()} ")))
        else:
            self._send(_HEAD + _chunk(_said("A Measured Title") + _LAST) + b"0\r\n\r\n")

    def _begin(self, words: int, rate: int) -> None:
        self._left, self._pause, self._due = words, 1 / rate, asyncio.get_running_loop().time()
        self._send(_HEAD)
        self._tick()

    def _tick(self) -> None:
        if self._transport is None:
            return
        self._left -= 1
        self._send(_chunk(_said(f"{time.monotonic_ns()} ")))
        if self._left == 0:
            self._send(_chunk(_LAST) + b"0\r\n\r\n")
            return
        self._due += self._pause
        asyncio.get_running_loop().call_at(self._due, self._tick)

    def _send(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)


def _said(text: str) -> bytes:
    return b'data: {"choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n' % text.encode()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


@contextmanager
def running() -> Iterator[str]:
    """The address of a model that runs in a process of its own until the block ends."""
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.fake_model"], cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def settings_for(address: str, model: str) -> dict[str, str]:
    """What a server is told that has its answers from the model of this name at `running`'s address."""
    return {
        "OPENAI_BASE_URL": f"{address}/v1",
        "OPENAI_API_KEY": "loopback",
        "ANAPHORA_MAIN_MODEL": f"openai:{model}",
        "ANAPHORA_CHEAP_MODEL": "openai:title",
    }


async def _serve(announce: Callable[[int], None]) -> None:
    server = await asyncio.get_running_loop().create_server(FakeModel, "127.0.0.1", 0, backlog=2_048)
    announce(server.sockets[0].getsockname()[1])
    await server.serve_forever()


def main() -> None:
    """Serve until killed."""
    uvloop.run(_serve(lambda port: print(port, flush=True)))


if __name__ == "__main__":
    main()
