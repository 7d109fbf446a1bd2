"""Limits of client connections: their number, the size of a request's head, and timeouts."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, cast

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from database.accounts.throttle import network_of
from endpoints.http.headers import DEFAULT_HEADERS
from endpoints.http.scope import new_request_id

BEGAN_AT = "anaphora.began_at"
"""The key in ASGI's scope of the loop's time at which the first byte of the request came."""

HEAD_BYTES = 64 * 1024
"""The largest head of a request: address and headers together."""

_MOST_HEADERS = 128
_MOST_QUEUED = 16
"""Pipelined requests that may wait on one connection."""
_HEAD_SECONDS = 15.0
_STALLED_SECONDS = 30.0
_LOOK_EVERY = 1.0
_FED_AT_ONCE = 16 * 1024
_OTHER_FILES = 256


class Connections:
    """The open connections of one server. Used on its loop only.

    most: their largest number, as far as the system allows. of_address: the largest number of one address, or of one
    IPv6 /64 network; `trusted` networks of reverse proxies may have more, since they serve many clients. version: of
    the page, which each answer names.
    """

    def __init__(self, *, most: int, of_address: int, trusted: Sequence[str] = (), version: str = "") -> None:
        self.version = version
        self._most = most
        self._of_address = of_address
        self._trusted = [ipaddress.ip_network(network) for network in trusted]
        self._open: set[Connection] = set()
        self._by_address: Counter[str] = Counter()

    def admit(self, connection: Connection, address: str) -> bool:
        """Count a new connection; False, without counting it, if there are too many."""
        network = network_of(address)
        of_address = self._by_address[network] >= self._of_address and not self._is_proxy(address)
        if len(self._open) >= self._most or of_address:
            return False
        self._open.add(connection)
        self._by_address[network] += 1
        return True

    def leave(self, connection: Connection, address: str) -> None:
        """A connection has ended; a no-op for one that was not admitted."""
        if connection not in self._open:
            return
        self._open.discard(connection)
        network = network_of(address)
        self._by_address[network] -= 1
        if not self._by_address[network]:
            del self._by_address[network]

    async def watch(self) -> None:
        """Close connections whose clients take too long. Runs until it is cancelled.

        Time in which the loop itself stood still is no client's: what they read or sent meanwhile was not seen.
        """
        loop = asyncio.get_running_loop()
        looked_at = loop.time()
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            now = loop.time()
            late, looked_at = now - looked_at - _LOOK_EVERY, now
            for connection in list(self._open):
                connection.look(now, late=late)

    def _is_proxy(self, address: str) -> bool:
        with contextlib.suppress(ValueError):
            return any(ipaddress.ip_address(address) in network for network in self._trusted)
        return False


class Connection(HttpToolsProtocol):
    """uvicorn's protocol with limits on the size of a request's head and on the time that a client takes."""

    def __init__(self, *, connections: Connections, **more: Any) -> None:
        super().__init__(**more)
        self._connections = connections
        self._address = ""
        self._refused = False
        # When the connection became idle, or began to send a head that is not complete yet.
        self._awaits_head = True
        self._head_begun = False
        self._since = 0.0
        self._in_head = False
        self._head_size = 0
        # Bytes of the current request after its head that are not part of its body: its trailer.
        self._in_body = False
        self._trailer_size = 0
        # The previous request, while its response is not complete.
        self._earlier: RequestResponseCycle | None = None
        # Bytes that the client has not read, and since when it has read none.
        self._unread = 0
        self._unread_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has connected."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self._since = self._unread_since = self.loop.time()
        if not self._connections.admit(self, self._address):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, "server_busy", "There are too many connections.", retry=5)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._connections.leave(self, self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser in slices, so that at most one slice of an oversized head is kept."""
        if self._awaits_head and not self._head_begun:
            self._head_begun, self._since = True, self.loop.time()
        for start in range(0, len(data), _FED_AT_ONCE):
            if self._refused or self.transport.is_closing():
                return
            piece = data[start : start + _FED_AT_ONCE]
            super().data_received(piece)
            if self._in_head:
                self._head_size += len(piece)
                self._check_head(self._head_size)
            elif self._in_body:
                self._trailer_size += len(piece)
                self._check_trailer()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_head, self._head_size = True, 0
        cast("dict[str, Any]", self.scope)[BEGAN_AT] = self._since if self._awaits_head else self.loop.time()

    def on_headers_complete(self) -> None:
        """The head of a request is there."""
        self._in_head = False
        self._check_head(_size_of_head(self.url, self.headers))
        if not self._refused:
            self._check_queue()
        if not self._refused:
            self._awaits_head = False
            self._in_body, self._trailer_size = True, 0
            super().on_headers_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header of the head. Trailers are dropped: they must not pass for headers."""
        if self._in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._trailer_size = 0
        if self._refused:
            return
        super().on_body(body)
        if self.pipeline and len(self.cycle.body) > HEAD_BYTES:
            self.pipeline.popleft()
            self._end_after_earlier_requests()

    def on_message_complete(self) -> None:
        """The whole request is there."""
        self._in_body = False
        if not self._refused:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """The next request may come."""
        self._awaits_head = not self.pipeline
        self._head_begun, self._since = self._in_head, self.loop.time()
        super().on_response_complete()

    def look(self, now: float, *, late: float = 0.0) -> None:
        """Close the connection where its client takes too long; called every second, but `late` seconds later."""
        self._since = min(now, self._since + late)
        self._unread_since = min(now, self._unread_since + late)
        unread = self.transport.get_write_buffer_size()
        if unread:
            unread += _held_by_system(self.transport)
        if unread == 0 or unread < self._unread or not self._may_not_grow():
            self._unread_since = now
        self._unread = unread
        if unread:
            if now - self._unread_since > _STALLED_SECONDS:
                self.transport.abort()
        elif self._awaits_head and now - self._since > _HEAD_SECONDS:
            self.transport.close()

    def _may_not_grow(self) -> bool:
        """Whether the output buffer only shrinks, as far as the client reads."""
        return self.flow.write_paused or self._awaits_head or self.transport.is_closing()

    def send_400_response(self, msg: str) -> None:
        """Answer a request that is no HTTP."""
        if not self._refused:
            self._refuse(HTTPStatus.BAD_REQUEST, "bad_request", msg)

    def _check_queue(self) -> None:
        """Limit pipelined requests: their credentials have not been checked yet."""
        if self.cycle is None or self.cycle.response_complete:
            self._earlier = None
            return
        waiting = [cycle for cycle, _ in self.pipeline]
        sizes = [_size_of_head(cycle.scope["raw_path"], cycle.scope["headers"]) for cycle in waiting]
        sizes += [len(cycle.scope["query_string"]) for cycle in waiting]
        self._earlier = self.cycle
        if len(waiting) >= _MOST_QUEUED or sum(sizes) > HEAD_BYTES:
            self._end_after_earlier_requests()

    def _end_after_earlier_requests(self) -> None:
        """Accept no more requests; the connection closes after the response to the last accepted one."""
        self._refused = True
        if self._earlier is not None:
            self._earlier.keep_alive = False

    def _check_trailer(self) -> None:
        if self._trailer_size > HEAD_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", "The trailer is too large.")

    def _check_head(self, size: int) -> None:
        if size <= HEAD_BYTES and len(self.headers) <= _MOST_HEADERS:
            return
        if len(self.url) > HEAD_BYTES // 2:
            self._refuse(HTTPStatus.REQUEST_URI_TOO_LONG, "uri_too_long", "The address is too long.")
        else:
            code = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            self._refuse(code, "headers_too_large", "The headers are too large.")
        self.url, self.headers = b"", []

    def _refuse(self, status: HTTPStatus, code: str, message: str, *, retry: int | None = None) -> None:
        """Respond without a view, and close; in the middle of another response, only close."""
        self._refused = True
        if self.cycle is None or self.cycle.response_complete:
            error = _error(status, code, message, retry=retry, version=self._connections.version)
            self.transport.write(error)
        self.transport.close()


def _held_by_system(transport: asyncio.Transport) -> int:
    """Bytes of the connection that the system was given and the client's has not confirmed; 0 where none can be told.

    It holds megabytes, and takes more only once a third has left: for a slow client that may be a minute.
    """
    if sys.platform != "linux":
        return 0
    import fcntl
    import termios

    connected = transport.get_extra_info("socket")
    with contextlib.suppress(OSError, AttributeError, ValueError):
        return int.from_bytes(fcntl.ioctl(connected.fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder)
    return 0


def _size_of_head(address: bytes, headers: Iterable[tuple[bytes, bytes]]) -> int:
    size = len(address)
    for name, value in headers:
        size += len(name) + len(value) + 4
    return size


def _error(status: HTTPStatus, code: str, message: str, *, retry: int | None, version: str) -> bytes:
    request_id = new_request_id()
    body = orjson.dumps({"status": "error", "code": code, "message": message, "request_id": request_id})
    headers = DEFAULT_HEADERS | {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
        "X-Request-ID": request_id,
        "X-Anaphora-Version": version,
    }
    if retry is not None:
        headers["Retry-After"] = str(retry)
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def within_file_limit(wanted: int) -> int:
    """`wanted` connections, or as many as the system's limit of open files allows, which is raised where possible."""
    if sys.platform == "win32":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return max(min(wanted, soft - _OTHER_FILES), 1)
    return wanted
