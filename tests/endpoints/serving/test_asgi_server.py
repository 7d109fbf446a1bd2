"""The server as it runs: real sockets, one loop, few threads."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from typing import Any

from chat.turns import runner
from endpoints.serving import asgi_server
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import ROOT, LiveServer, new_account


def until_text(events: Iterator[dict[str, Any]]) -> dict[str, Any]:
    """Read on until the first words of the answer; the ids that came before."""
    ids: dict[str, Any] = {}
    for event in events:
        ids = event.get("message_ids", ids)
        if event["text"]:
            return ids
    raise AssertionError("the stream ended before it said anything")


def talk(server: LiveServer, raw: bytes) -> bytes:
    """Send `raw` and read until the server hangs up."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=120) as connection:
        connection.sendall(raw)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def test_watchers_stay_connected_until_the_turns_that_are_stopped_are_stored() -> None:
    assert asgi_server._STOP_SECONDS >= asgi_server.DRAIN_SECONDS + runner._STOP_SECONDS


def test_watchers_hold_no_threads(start_server: Callable[..., LiveServer], recording_model: RecordingModel) -> None:
    server = start_server(ANAPHORA_THREADS="2", **recording_model.environ)
    recording_model.scripts["main"] = saying("one ", "two", pause_after=1)
    client = server.sign_up()
    first = client.send(client.create_conversation(), "Count")
    ids = until_text(first)
    watchers = [client.stream(f"/stream/{ids['response_message_id']}?after=0") for _ in range(20)]
    for watcher in watchers:
        assert "references" in next(watcher)
    assert client.get("/get_user_info").status == 200
    recording_model.release()
    for watcher in watchers:
        assert list(watcher)[-1]["done"] is True


def test_a_slow_sender_holds_no_thread(start_server: Callable[..., LiveServer]) -> None:
    server = start_server(ANAPHORA_THREADS="1")
    head = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    with (
        socket.create_connection(("127.0.0.1", server.port)) as one,
        socket.create_connection(("127.0.0.1", server.port)) as two,
    ):
        one.sendall(head)
        two.sendall(head)
        assert server.client().get("/healthz").status == 200


def test_a_body_that_is_announced_as_huge_is_refused_unread(shared_server: LiveServer) -> None:
    head = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    answer = talk(shared_server, head % 10**10)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "too_large"


def test_a_body_that_grows_huge_is_refused(shared_server: LiveServer) -> None:
    head = b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = talk(shared_server, head + (b"100000\r\n" + b"x" * 0x100000 + b"\r\n") * 6 + b"0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_client_that_listens_only_after_sending_everything_learns_that_it_was_too_much(
    shared_server: LiveServer,
) -> None:
    answer = shared_server.client().post("/login", b"x" * 20_000_000)
    assert (answer.status, answer.json()["code"]) == (413, "too_large")
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert f"too_large request_id={answer.headers['x-request-id']} method=POST route=/login status=413" in (
        shared_server.log()
    )


def test_headers_with_underscores_and_doubled_hosts_pass_for_nothing(live_server: LiveServer) -> None:
    client = live_server.sign_up()
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    forged = (
        "POST /create_conversation/assistant/ HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
        f"Cookie: {cookie}\r\nSec_Fetch_Site: same-origin\r\nOrigin: https://evil.example\r\n\r\n"
    )
    assert talk(live_server, forged.encode()).startswith(b"HTTP/1.1 403 ")
    doubled = "GET /login HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert talk(live_server, doubled.encode()).startswith(b"HTTP/1.1 400 ")


def test_a_long_answer_arrives_piece_by_piece(shared_server: LiveServer, shared_model: RecordingModel) -> None:
    shared_model.scripts["main"] = saying("first ", "last", pause_after=1)
    client = new_account(shared_server)
    events = client.send(client.create_conversation(), "Go")
    until_text(events)
    shared_model.release()
    assert [event["text"] for event in events if event["text"]] == ["last"]


def test_files_of_the_page_are_packed_and_kept_for_ever(shared_server: LiveServer) -> None:
    client: Client = new_account(shared_server)
    page = client.get("/interface/", Accept="text/html").text
    address = next(part for part in page.split('"') if part.endswith("/main.js"))
    packed = client.get(address, Accept_Encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip"
    assert "immutable" in packed.headers["cache-control"]
    assert packed.headers["content-type"].startswith("text/javascript")
    plain = client.get(address)
    assert len(plain.body) > len(packed.body)
    old = client.get("/static/0123456789abcdef/" + "/".join(address.split("/")[3:]))
    assert (old.status, old.headers["cache-control"]) == (200, "no-cache")
    # What joins the parts of another version finds others under the names of those that it means.
    assert client.get(address.replace("main.js", "later.js")).status == 200
    for language in ("", "de/"):
        refused = client.get(f"/static/0123456789abcdef/built/{language}later.js")
        assert (refused.status, "x-anaphora-version" in refused.headers) == (404, True)


def test_styles_that_a_page_needs_at_once_come_as_one_file_in_their_order(shared_server: LiveServer) -> None:
    client: Client = new_account(shared_server)
    page = client.get("/interface/", Accept="text/html").text
    styles = re.findall(r'<link rel="stylesheet" href="([^"]+)"', page)
    folder = ROOT / "interface" / "static"
    parts = [
        folder / "built" / "vendor" / "bootstrap.min.css",
        folder / "built" / "page" / "ui" / "theme.css",
        folder / "built" / "page" / "ui" / "base.css",
    ]
    assert [style.split("/", 3)[3] for style in styles] == ["joined/base.css", "joined/interface.css"]
    joined = client.get(styles[0])
    assert joined.headers["content-type"].startswith("text/css")
    assert joined.body == b"\n".join(part.read_bytes() for part in parts)


def test_the_first_page_asks_for_no_more_files_than_it_may(shared_server: LiveServer) -> None:
    client: Client = new_account(shared_server)
    page = client.get("/interface/", Accept="text/html", Accept_Encoding="gzip")
    named = set(re.findall(r'(?:href|src)="(/static/[^"#]+)', client.get("/interface/", Accept="text/html").text))
    sizes = [len(client.get(address, Accept_Encoding="gzip").body) for address in named]
    # Beside them the browser asks for the page, the mark of the tab, two lists and the models.
    assert len(named) + 5 <= 20
    assert sum(sizes) + len(page.body) < 235_000
