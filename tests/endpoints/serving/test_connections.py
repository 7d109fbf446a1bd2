"""Bounds of connections: heads of requests, clients that take their time, and how many there may be."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, request

from endpoints.http.scope import EXTENSION
from endpoints.serving import connections
from endpoints.serving.asgi_server import Bridge, Server, configure
from language_models.testing import ScriptedChatModel
from settings import Settings
from tests.endpoints.conftest import running_app
from tests.live_server import free_port

pytestmark = pytest.mark.thorough

HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"
Connect = Callable[[], socket.socket]


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """A server for few connections."""
    return settings.model_copy(update={"port": free_port(), "connections": 8, "connections_of_address": 4})


@pytest.fixture
def bridge(app: Flask) -> Bridge:
    """What is served."""
    return Bridge(app)


@pytest.fixture
def connect(app: Flask, bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    """Connect to the application as it is served, on a loop in another thread; it looks at its connections often."""
    monkeypatch.setattr(connections, "_LOOK_EVERY", 0.01)
    settings = app.extensions[EXTENSION].settings
    server = Server(configure(bridge, settings), bridge)
    started = threading.Event()
    monkeypatch.setattr(server, "startup", _then(server.startup, started.set))
    thread = threading.Thread(target=lambda: asyncio.run(server.serve()))
    thread.start()
    assert started.wait(30)
    opened: list[socket.socket] = []

    def connect() -> socket.socket:
        opened.append(socket.create_connection(("127.0.0.1", settings.port), timeout=30))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()
    server.handle_exit(signal.SIGTERM, None)
    thread.join(30)


def _then(work: Callable[..., Any], act: Callable[[], None]) -> Callable[..., Any]:
    async def both(*arguments: Any, **more: Any) -> None:
        await work(*arguments, **more)
        act()

    return both


def rest(connection: socket.socket) -> bytes:
    """What comes until the server hangs up."""
    received = b""
    try:
        while piece := connection.recv(65_536):
            received += piece
    except ConnectionResetError:
        pass
    return received


def code_of(answer: bytes) -> tuple[int, str]:
    """Status and code of an error."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["code"]


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (HEAD + b"X-Long: " + b"x" * 200_000, (431, "headers_too_large")),
        (HEAD + b"X-Long: " + b"x" * 70_000 + b"\r\n\r\n", (431, "headers_too_large")),
        (HEAD + b"X-Many: 1\r\n" * 200 + b"\r\n", (431, "headers_too_large")),
        (b"GET /healthz?" + b"x" * 200_000, (414, "uri_too_long")),
        (b"GET /healthz?" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", (414, "uri_too_long")),
    ],
)
def test_a_head_that_is_too_long_is_refused_before_its_end(
    connect: Connect, sent: bytes, expected: tuple[int, str]
) -> None:
    client = connect()
    with suppress(ConnectionError):  # refused while it is still being sent
        client.sendall(sent)
    answer = rest(client)
    assert code_of(answer) == expected
    assert re.search(rb"\r\nX-Anaphora-Version: [0-9a-f]+\r\n", answer)


def test_a_long_head_within_the_bounds_is_taken(connect: Connect) -> None:
    client = connect()
    client.sendall(HEAD + b"X-Long: " + b"x" * 60_000 + b"\r\nConnection: close\r\n\r\n")
    assert rest(client).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("begun", [b"", b"GET /hea", HEAD, b"\r\n", HEAD + b"Connection: keep-alive\r\n\r\n"])
def test_idle_connections_and_heads_that_do_not_end_are_closed(
    connect: Connect, begun: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = connect()
    client.sendall(begun)
    answered = client.recv(12) if begun.endswith(b"\r\n\r\n") else b""
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.1)
    answered += rest(client)
    assert answered.startswith(b"HTTP/1.1 200 ") == begun.endswith(b"\r\n\r\n")


def test_a_trickled_head_does_not_buy_time(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.3)
    client = connect()
    client.settimeout(0.02)
    for _ in range(3_000):
        try:
            client.sendall(b"G")
            if client.recv(1) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    else:
        pytest.fail("the connection was never closed")


def test_many_requests_pass_through_one_connection(connect: Connect) -> None:
    client = connect()
    client.sendall((HEAD + b"\r\n") * 5 + HEAD + b"Connection: close\r\n\r\n")
    assert rest(client).count(b"HTTP/1.1 200 ") == 6


def until(condition: Callable[[], object]) -> None:
    for _ in range(3_000):
        if condition():
            return
        threading.Event().wait(0.01)
    pytest.fail("it never came to that")


@pytest.fixture
def app(settings: Settings, main_model: ScriptedChatModel, cheap_model: ScriptedChatModel) -> Iterator[Flask]:
    """An application to which tests may add routes."""
    with running_app(settings, main=main_model, cheap=cheap_model, own_routes=True) as application:
        yield application


@pytest.fixture
def go_on(app: Flask) -> Iterator[threading.Event]:
    """`/waits` answers when this is set."""
    event = threading.Event()

    def wait() -> str:
        assert event.wait(60)
        return "waited"

    app.add_url_rule("/waits", view_func=_public(wait))
    yield event
    event.set()


@pytest.mark.parametrize(
    ("queued", "answers"),
    [
        ((HEAD + b"\r\n") * 100, 1 + 16),
        ((HEAD + b"X-Long: " + b"x" * 30_000 + b"\r\n\r\n") * 9, 1 + 3),
        (HEAD + b"Content-Length: 500000\r\n\r\n" + b"x" * 500_000, 1),
    ],
)
def test_what_may_wait_on_one_connection_for_an_earlier_answer_is_bounded(
    connect: Connect, bridge: Bridge, go_on: threading.Event, queued: bytes, answers: int
) -> None:
    client = connect()
    client.sendall(b"GET /waits HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    until(lambda: any(connection.cycle is not None for connection in bridge.connections._open))
    # In one piece, as the kernel may hand it over: of several, the server reads one and leaves the rest to the sender.
    (connection,) = (each for each in bridge.connections._open if each.cycle is not None)
    connection.loop.call_soon_threadsafe(connection.data_received, queued)
    until(lambda: connection._refused)
    go_on.set()
    received = rest(client)
    assert received.count(b"HTTP/1.1 200 ") == received.count(b"HTTP/1.1 ") == answers
    assert received.count(b"connection: close") == 1


@pytest.mark.parametrize("trailer", [b"X-Late: " + b"x" * 200_000, b"X-Late: 1\r\n" * 20_000])
def test_the_trailer_of_a_body_is_bounded(connect: Connect, trailer: bytes) -> None:
    client = connect()
    with suppress(ConnectionError):
        client.sendall(HEAD.replace(b"/healthz", b"/readyz") + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + trailer)
    assert rest(client) == b""


def test_a_trailer_does_not_pass_for_a_header(connect: Connect, app: Flask) -> None:
    app.add_url_rule("/late", view_func=_public(lambda: request.headers.get("X-Late", "no such header")))
    client = connect()
    client.sendall(
        b"GET /late HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"0\r\nX-Late: forged\r\nX-Later: too\r\n\r\n"
    )
    assert rest(client).endswith(b"no such header")


def test_what_is_no_http_is_answered_in_the_usual_shape(connect: Connect) -> None:
    client = connect()
    client.sendall(b"HELO example.org\r\n\r\n")
    assert code_of(rest(client)) == (400, "bad_request")


def test_a_client_that_does_not_read_is_given_up(
    connect: Connect, bridge: Bridge, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_STALLED_SECONDS", 0.1)
    size = 20_000_000
    app.add_url_rule("/large", view_func=_public(lambda: b"x" * size))
    client = connect()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    client.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    assert client.recv(12) == b"HTTP/1.1 200"
    until(lambda: not bridge.connections._open)
    assert len(rest(client)) < size


def test_a_new_connection_is_not_given_up_at_its_first_look(
    app: Flask, bridge: Bridge, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 20_000_000
    app.add_url_rule("/large", view_func=_public(lambda: b"x" * size))
    unread = list[int]()
    look = connections.Connection.look

    def first_in_the_middle(self: connections.Connection, now: float, *, late: float = 0.0) -> None:
        if unread or self.transport.get_write_buffer_size():
            look(self, now, late=late)
            unread.append(self._unread)

    monkeypatch.setattr(connections.Connection, "look", first_in_the_middle)
    client = connect()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    client.sendall(b"GET /large HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
    until(lambda: bool(unread))
    assert len(rest(client).partition(b"\r\n\r\n")[2]) == size


class Transport:
    """What the client has not read yet, and what became of the connection."""

    def __init__(self, connected: socket.socket | None = None) -> None:
        self.unread = 0
        self.ended = ""
        self.connected = connected

    def get_extra_info(self, name: str) -> socket.socket | None:
        return self.connected if name == "socket" else None

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return bool(self.ended)

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


def looked_at(
    sizes: dict[float, int], *, write_paused: bool = True, awaits_head: bool = False, late: float = 0.0
) -> str:
    """What becomes of a connection with so many unread bytes at each moment, in seconds; each look is so `late`."""
    transport = Transport()
    connection = object.__new__(connections.Connection)
    connection.__dict__ |= {
        "transport": transport,
        "flow": SimpleNamespace(write_paused=write_paused),
        "_awaits_head": awaits_head,
        "_since": 0.0,
        "_unread": 0,
        "_unread_since": 0.0,
    }
    for now, size in sizes.items():
        transport.unread = size
        connection.look(now, late=late)
    return transport.ended


def test_a_client_that_reads_slowly_gets_everything() -> None:
    assert looked_at({second: 1_000_000 - second for second in range(0, 10_000, 29)}) == ""
    assert looked_at({second: 1_000_000 - second // 29 for second in range(10_000)}, awaits_head=True) == ""
    assert looked_at(dict.fromkeys(range(32), 70_000)) == "aborted"
    assert looked_at(dict.fromkeys(range(32), 70_000), awaits_head=True) == "aborted"


def test_an_answer_that_grows_by_and_by_is_no_stalled_one() -> None:
    assert looked_at({second: 10 * second for second in range(1_000)}, write_paused=False) == ""
    assert looked_at(dict.fromkeys(range(1_000), 0), write_paused=False) == ""


def test_a_connection_is_idle_only_once_everything_was_read() -> None:
    assert looked_at(dict.fromkeys(range(17), 0), awaits_head=True) == "closed"
    assert looked_at(dict.fromkeys(range(15), 0), awaits_head=True) == ""


def test_a_loop_that_stood_still_is_no_fault_of_the_client() -> None:
    assert looked_at({1: 70_000, 41: 70_000}) == "aborted"
    assert looked_at({1: 70_000, 41: 70_000}, late=39) == ""
    assert looked_at({20: 0}, awaits_head=True) == "closed"
    assert looked_at({20: 0}, awaits_head=True, late=19) == ""


def test_a_client_that_reads_what_the_system_holds_reads() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        client = socket.create_connection(listening.getsockname(), timeout=30)
        served, _ = listening.accept()
    with client, served:
        served.setblocking(False)
        with suppress(BlockingIOError):
            while served.send(b"x" * 65_536):
                pass
        transport = Transport(served)
        held = connections._held_by_system(transport)  # type: ignore[arg-type]
        assert (held > 0) == (sys.platform == "linux")  # others do not tell
        client.recv(held // 2, socket.MSG_WAITALL)
        until(lambda: connections._held_by_system(transport) < held or not held)  # type: ignore[arg-type]
    assert connections._held_by_system(transport) == 0  # type: ignore[arg-type]  # it was closed meanwhile


def test_what_the_system_sends_by_and_by_counts_as_read(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = dict.fromkeys(range(100), 70_000)
    monkeypatch.setattr(connections, "_held_by_system", lambda _: 4_000_000)
    assert looked_at(sizes) == "aborted"
    held = iter(range(4_000_000, 0, -30_000))
    monkeypatch.setattr(connections, "_held_by_system", lambda _: next(held))
    assert looked_at(sizes) == ""


def _public(view: Callable[[], Any]) -> Callable[[], Any]:
    view.is_public = True  # type: ignore[attr-defined]
    return view


def test_connections_of_one_address_are_bounded(connect: Connect) -> None:
    held = [connect() for _ in range(4)]
    for client in held:
        client.sendall(HEAD + b"\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
    one_more = connect()
    answer = rest(one_more)
    assert code_of(answer) == (503, "server_busy")
    assert b"Retry-After: 5" in answer
    held[0].close()
    for _ in range(3_000):
        again = connect()
        again.sendall(HEAD + b"Connection: close\r\n\r\n")
        if rest(again).startswith(b"HTTP/1.1 200 "):
            break
    else:
        pytest.fail("the place was never free again")


def test_connections_are_bounded_in_all_but_proxies_have_no_share_of_their_own() -> None:
    counted = connections.Connections(most=3, of_address=1, trusted=["10.0.0.0/8"])
    made = [object() for _ in range(5)]
    addresses = ["10.0.0.1", "10.0.0.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"]
    admitted = [counted.admit(one, address) for one, address in zip(made, addresses, strict=True)]  # type: ignore[arg-type]
    assert admitted == [True, True, True, False, False]
    for one, address in zip(made, addresses, strict=True):
        counted.leave(one, address)  # type: ignore[arg-type]
    assert counted.admit(made[3], "192.0.2.1")  # type: ignore[arg-type]


def test_all_addresses_of_one_ipv6_network_are_one_client() -> None:
    counted = connections.Connections(most=9, of_address=1)
    first, second, other = object(), object(), object()
    assert counted.admit(first, "2001:db8::1")  # type: ignore[arg-type]
    assert not counted.admit(second, "2001:db8::2")  # type: ignore[arg-type]
    assert counted.admit(other, "2001:db8:0:1::1")  # type: ignore[arg-type]
    counted.leave(first, "2001:db8::1")  # type: ignore[arg-type]
    assert counted.admit(second, "2001:db8::2")  # type: ignore[arg-type]


def test_there_are_no_more_connections_than_open_files(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    limits = [(1_024, 2_048)]
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda _kind, limit: limits.append(limit))
    assert connections.within_file_limit(500) == 500
    assert limits[1:] == []
    assert connections.within_file_limit(4_000) == 2_048 - 256
    assert limits[-1] == (2_048, 2_048)
