"""Places to fetch a small model from: a publisher's server on loopback, and wheels in a folder."""

from __future__ import annotations

import base64
import hashlib
import http.server
import random
import re
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partialmethod
from pathlib import Path

from language_models.download.catalogue import CatalogueEntry, HubSource, PackageSource

CONTENT = random.Random(7).randbytes(300_000)
PARTS = 3
_PART_SIZE = len(CONTENT) // PARTS


def entry_with(*sources: HubSource | PackageSource) -> CatalogueEntry:
    """A model whose right content is CONTENT."""
    return CatalogueEntry(
        name="tiny",
        aliases=(),
        file="tiny.gguf",
        size=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        licence="MIT",
        ram_gib=0.1,
        sources=sources,
    )


def package_source() -> PackageSource:
    """CONTENT as the data of three packages."""
    return PackageSource(package="tiny-model-part{number}", version="1.0", count=PARTS)


def only_from(links: Path) -> Sequence[str]:
    """Options that let pip look nowhere but in `links`."""
    return ("--no-index", "--find-links", str(links))


def add_wheel(links: Path, number: int, *, data: bytes | None = None, also: Sequence[str] = ()) -> Path:
    """Make the wheel of part `number`.

    data: what it holds instead of what its record says. also: other files in it.
    """
    package = f"tiny_model_part{number}"
    info = f"{package}-1.0.dist-info"
    right = CONTENT[(number - 1) * _PART_SIZE : number * _PART_SIZE]
    name = f"{package}/data/part{number:02}.bin"
    digest = base64.urlsafe_b64encode(hashlib.sha256(right).digest()).rstrip(b"=").decode()
    links.mkdir(exist_ok=True)
    wheel = links / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{package}/__init__.py", "raise SystemExit('a model is data, nobody imports it')\n")
        archive.writestr(name, right if data is None else data)
        for other in also:
            archive.writestr(other, "something else")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", f"{name},sha256={digest},{len(right)}\n{info}/RECORD,,\n")
    return wheel


class Publisher:
    """A server that offers one file; what it does wrong is set by the test.

    content: what it sends. breaks_after: bytes of a response after which it hangs up, once they `arrived`.
    honours_ranges, is_silent: as they say. ranges: the Range header of each request so far, "" without one.
    """

    def __init__(self) -> None:
        self.content = CONTENT
        self.breaks_after: int | None = None
        self.honours_ranges = True
        self.is_silent = False
        self.released = threading.Event()
        self.arrived = threading.Event()
        self.ranges: list[str] = []
        self.url = ""

    @property
    def source(self) -> HubSource:
        """Its entry in a catalogue."""
        return HubSource(url=f"{self.url}/tiny.gguf")

    @contextmanager
    def serving(self) -> Iterator[Publisher]:
        """Answer on a port of loopback until the end of the block."""
        methods = {"do_GET": partialmethod(_answer, self), "log_message": _say_nothing}
        handler = type("Handler", (http.server.BaseHTTPRequestHandler,), methods)
        server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self.arrived.set()
            server.shutdown()
            thread.join()
            server.server_close()


def _say_nothing(*_: object) -> None:
    """Neither a request nor a client that walks away is worth a line."""


_Server = type("Server", (http.server.ThreadingHTTPServer,), {"handle_error": _say_nothing})


def _answer(handler: http.server.BaseHTTPRequestHandler, publisher: Publisher) -> None:
    asked = handler.headers.get("Range", "")
    publisher.ranges.append(asked)
    if publisher.is_silent:
        publisher.released.wait()
        return
    match = re.fullmatch(r"bytes=(\d+)-", asked) if publisher.honours_ranges else None
    start = int(match[1]) if match else 0
    body = publisher.content[start:]
    handler.send_response(206 if match else 200)
    if match:
        size = len(publisher.content)
        handler.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: publisher.breaks_after])
    if publisher.breaks_after is not None:
        publisher.arrived.wait()
