"""The bridge between the loop and the views, spoken to as an ASGI server speaks."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Sequence
from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import MapAdapter

from endpoints.http.scope import EXTENSION
from endpoints.http.streams import StreamBody
from endpoints.serving import asgi_server, bodies
from endpoints.serving.asgi_server import Bridge, Server, configure, serve
from language_models.testing import Hold, Reply, ScriptedChatModel
from tests.endpoints.conftest import Person

pytestmark = pytest.mark.thorough


class Connection:
    """One request: what the client sends, and what it got."""

    def __init__(self, method: str, path: str, *, body: Sequence[bytes] = (b"",), headers: Any = ()) -> None:
        self.scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "http_version": "1.1",
            "scheme": "http",
            "server": ("127.0.0.1", 5000),
            "client": ("127.0.0.1", 40000),
            "headers": [(b"host", b"localhost"), (b"origin", b"http://localhost"), *headers],
        }
        self.sent: list[dict[str, Any]] = []
        self.hung_up = asyncio.Event()
        self.got_text = asyncio.Event()
        self.unsent = list(body)

    async def receive(self) -> dict[str, Any]:
        if self.unsent:
            return {"type": "http.request", "body": self.unsent.pop(0), "more_body": bool(self.unsent)}
        await self.hung_up.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        if b'"text":"It is "' in message.get("body", b""):
            self.got_text.set()

    @property
    def status(self) -> int:
        return self.sent[0]["status"]

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)


@pytest.fixture
def main_model() -> ScriptedChatModel:
    """Says two words, and waits in between until it is told to go on."""
    return ScriptedChatModel(replies=lambda _prompt: Reply("It is ", Hold(), "forty-two."))


def ask(app: Flask, connection: Connection) -> Connection:
    asyncio.run(Bridge(app)(connection.scope, connection.receive, connection.send))
    return connection


def test_a_view_answers_through_the_bridge(app: Flask) -> None:
    answer = ask(app, Connection("GET", "/healthz"))
    assert (answer.status, json.loads(answer.body)) == (200, {"status": "ok"})
    assert (b"content-type", b"application/json") in answer.sent[0]["headers"]


def test_what_the_loop_answers_names_the_version_of_the_page_as_well(app: Flask, ada: Person) -> None:
    answer = ask(app, Connection("GET", "/healthz"))
    version = ada.get("/readyz").headers["X-Anaphora-Version"]
    assert dict(answer.sent[0]["headers"])[b"x-anaphora-version"] == version.encode()


def test_the_time_of_an_answer_is_left_to_the_server(app: Flask, ada: Person) -> None:
    assert "Date" in ada.get("/readyz").headers
    answer = ask(app, Connection("GET", "/readyz"))
    assert b"date" not in dict(answer.sent[0]["headers"])


def test_a_route_is_found_once_and_its_view_gets_what_the_address_says(
    app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation_id = ada.new_conversation()
    matched, match = list[str](), MapAdapter.match

    def counted(routes: MapAdapter, *wanted: Any, **ways: Any) -> Any:
        matched.append(str(wanted))
        return match(routes, *wanted, **ways)

    monkeypatch.setattr(MapAdapter, "match", counted)
    answer = ask(app, Connection("GET", f"/get_conversation_details/{conversation_id}", headers=[cookie_of(ada)]))
    assert json.loads(answer.body)["conversation_id"] == conversation_id
    assert len(matched) == 1


def test_addresses_without_a_view_are_answered_as_by_any_other_server(app: Flask, ada: Person) -> None:
    for method, path in (("OPTIONS", "/search"), ("DELETE", "/search"), ("GET", "/nowhere"), ("GET", "/setup/")):
        answer, other = ask(app, Connection(method, path, headers=[cookie_of(ada)])), ada.request(method, path)
        headers = {name.decode(): value.decode() for name, value in answer.sent[0]["headers"]}
        expected = (other.status_code, other.headers.get("Allow"), other.headers.get("Location"))
        assert (answer.status, headers.get("allow"), headers.get("location")) == expected


def test_a_body_in_pieces_arrives_whole(app: Flask) -> None:
    pieces = [b'{"email": "ada@exa', b'mple.org", "password": "long enough"}']
    answer = ask(app, Connection("POST", "/setup", body=pieces, headers=[(b"content-type", b"application/json")]))
    assert json.loads(answer.body)["user_email"] == "ada@example.org"


@pytest.mark.parametrize("headers", [[(b"content-length", b"99999999")], []])
def test_too_much_is_refused(headers: Any, app: Flask) -> None:
    answer = ask(app, Connection("POST", "/setup", body=[b"x" * 3_000_000] * 2, headers=headers))
    assert (answer.status, json.loads(answer.body)["code"]) == (413, "too_large")
    assert (b"connection", b"close") in answer.sent[0]["headers"]


@pytest.mark.parametrize("headers", [[(b"content-length", b"9000000")], []])
def test_the_rest_of_what_was_too_much_is_read_before_the_connection_ends(headers: Any, app: Flask) -> None:
    connection = Connection("POST", "/setup", body=[b"x" * 3_000_000] * 3, headers=headers)
    unread = []

    async def send(message: dict[str, Any]) -> None:
        unread.append(len(connection.unsent))

    asyncio.run(Bridge(app)(connection.scope, connection.receive, send))
    assert unread[0] > 0
    assert unread[-1] == 0


def test_no_more_is_read_of_what_is_too_much_than_a_client_may_be_waited_for(app: Flask, monkeypatch: Any) -> None:
    monkeypatch.setattr(bodies, "_DISCARD_BYTES", 5_000_000)
    connection = ask(app, Connection("POST", "/setup", body=[b"x" * 3_000_000] * 9))
    assert connection.status == 413
    assert len(connection.unsent) == 7
    monkeypatch.setattr(bodies, "_DISCARD_SECONDS", 0.01)
    assert ask(app, Connection("POST", "/setup", body=(), headers=[(b"content-length", b"4500000")])).status == 413


CHUNKED = (b"transfer-encoding", b"chunked")
JSON = (b"content-type", b"application/json")


def counting(app: Flask, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the bodies that reach the application, in order."""
    sizes, wsgi_app = list[int](), app.wsgi_app

    def count(environ: dict[str, Any], start_response: Any) -> Any:
        sizes.append(len(environ["wsgi.input"].read()))
        return wsgi_app(environ, start_response)

    monkeypatch.setattr(app, "wsgi_app", count)
    return sizes


def cookie_of(person: Person) -> tuple[bytes, bytes]:
    """The header that proves who asks."""
    cookie = person.client.get_cookie("anaphora_session")
    assert cookie is not None
    return b"cookie", f"anaphora_session={cookie.value}".encode()


@pytest.mark.parametrize("credentials", [(), ((b"cookie", b"anaphora_session=stale"),), ((b"authorization", b"x"),)])
@pytest.mark.parametrize("length", [(CHUNKED,), ((b"content-length", b"9000000"),)])
def test_without_valid_credentials_no_body_larger_than_a_form_is_kept(
    app: Flask, monkeypatch: pytest.MonkeyPatch, credentials: Any, length: Any
) -> None:
    sizes = counting(app, monkeypatch)
    bridge, held = Bridge(app), list[int]()
    connection = Connection("POST", "/pkb/import", body=[b"x" * 30_000] * 300, headers=[JSON, *length, *credentials])

    async def receive() -> dict[str, Any]:
        held.append(bridge._memory.held)
        return await Connection.receive(connection)

    asyncio.run(bridge(connection.scope, receive, connection.send))
    assert (connection.status, json.loads(connection.body)["code"]) == (401, "unauthorized")
    assert (max(held) <= 65_536, bridge._memory.held, sizes) == (True, 0, [])


def test_address_and_headers_count_as_well(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = counting(app, monkeypatch)
    headers = [JSON, CHUNKED, (b"x-long", b"x" * 30_000)]
    assert ask(app, Connection("POST", "/login", body=[b"x" * 30_000], headers=headers)).status == 400
    assert ask(app, Connection("POST", "/login", body=[b"x" * 40_000], headers=headers)).status == 413
    assert sizes == [30_000]


@pytest.mark.parametrize("length", [(CHUNKED,), ((b"content-length", b"3000000"),)])
def test_who_has_signed_in_may_send_more(app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch, length: Any) -> None:
    sizes = counting(app, monkeypatch)
    headers = [JSON, *length, cookie_of(ada)]
    answer = ask(app, Connection("POST", "/pkb/import", body=[b" " * 1_000_000] * 3, headers=headers))
    assert (answer.status, sizes) == (400, [3_000_000])


def test_a_slow_upload_of_a_person_goes_on_at_a_least_rate(
    app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi_server, "STRANGERS_SECONDS", 0.01)
    connection = Connection("POST", "/pkb/import", body=[b"{", b"}"], headers=[JSON, cookie_of(ada)])

    async def receive() -> dict[str, Any]:
        if len(connection.unsent) == 1:
            await asyncio.sleep(0.05)
        return await Connection.receive(connection)

    asyncio.run(Bridge(app)(connection.scope, receive, connection.send))
    assert connection.status == 400  # all of it arrived
    monkeypatch.setattr(bodies, "_GRACE_SECONDS", 0.01)
    stuck = Connection("POST", "/pkb/import", body=(), headers=[JSON, (b"content-length", b"70000"), cookie_of(ada)])
    assert ask(app, stuck).status == 408


def test_memory_for_bodies_is_bounded_in_all_and_for_each_person(app: Flask, ada: Person, eve: Person) -> None:
    async def scene() -> None:
        bridge = Bridge(app)
        bridge._memory = bodies.BodyMemory(4_000_000)
        first = Connection("POST", "/pkb/import", body=[b" " * 900_000, b" "], headers=[JSON, CHUNKED, cookie_of(ada)])
        arrived, go_on = asyncio.Event(), asyncio.Event()

        async def receive() -> dict[str, Any]:
            if len(first.unsent) == 1:
                arrived.set()
                await go_on.wait()
            return await Connection.receive(first)

        sending = asyncio.create_task(bridge(first.scope, receive, first.send))
        await arrived.wait()

        async def answer_to(person: Person, size: int) -> tuple[int, str, bool]:
            body = [b" " * size]
            another = Connection("POST", "/pkb/import", body=body, headers=[JSON, CHUNKED, cookie_of(person)])
            await bridge(another.scope, another.receive, another.send)
            waits = b"retry-after" in dict(another.sent[0]["headers"])
            return another.status, json.loads(another.body)["code"], waits

        assert await answer_to(ada, 200_000) == (429, "rate_limited", True)
        assert await answer_to(eve, 200_000) == (400, "bad_request", False)
        bridge._memory.held += 3_000_000
        assert await answer_to(eve, 200_000) == (503, "server_busy", True)
        bridge._memory.held -= 3_000_000
        go_on.set()
        await sending
        assert (first.status, bridge._memory.held) == (400, 0)

    asyncio.run(scene())


def test_a_body_that_never_ends_is_given_up(app: Flask, monkeypatch: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    monkeypatch.setattr(asgi_server, "STRANGERS_SECONDS", 0.01)
    answer = ask(app, Connection("POST", "/setup", body=()))
    told = json.loads(answer.body)
    assert (answer.status, told["code"]) == (408, "request_timeout")
    assert (b"x-request-id", told["request_id"].encode()) in answer.sent[0]["headers"]
    [line] = [vars(record) for record in caplog.records if record.name == "anaphora.requests"]
    assert (line["request_id"], line["route"], line["status"]) == (told["request_id"], "/setup", 408)


def test_a_client_that_hangs_up_while_sending_gets_nothing(app: Flask) -> None:
    connection = Connection("POST", "/setup", body=())
    connection.hung_up.set()
    assert ask(app, connection).sent == []


def test_hanging_up_ends_the_watching_and_nothing_else(app: Flask, ada: Person) -> None:
    conversation_id = ada.new_conversation()
    cookie = f"anaphora_session={ada.client.get_cookie('anaphora_session').value}".encode()
    bridge = Bridge(app)

    async def watch_and_leave() -> list[dict[str, Any]]:
        asking = Connection(
            "POST",
            f"/send_message/{conversation_id}",
            body=[b'{"messageText": "What is it?"}'],
            headers=[(b"content-type", b"application/json"), (b"cookie", cookie)],
        )
        watching = asyncio.create_task(bridge(asking.scope, asking.receive, asking.send))
        await asking.got_text.wait()
        asking.hung_up.set()
        await watching
        return asking.sent

    sent = asyncio.run(watch_and_leave())
    assert sent[0]["status"] == 200
    assert not any(b'"done":true' in message.get("body", b"") for message in sent)
    listed = ada.get(f"/list_messages_by_conversation/{conversation_id}").json
    assert listed[-1]["status"] == "streaming"
    assert ada.post(f"/cancel_response/{conversation_id}").json["cancelled"] is True


def test_a_server_opens_and_closes_what_it_needs(app: Flask, main_model: ScriptedChatModel) -> None:
    sent: list[str] = []
    events = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])

    async def receive() -> dict[str, Any]:
        return next(events)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message["type"])

    asyncio.run(Bridge(app)({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


def test_a_port_that_is_taken_is_told_before_anything_is_begun(app: Flask) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings = app.extensions[EXTENSION].settings.model_copy(update={"host": "127.0.0.1", "port": port})
        with pytest.raises(OSError, match=f"port {port}: Address already in use"):
            serve(app, settings)
    nowhere = settings.model_copy(update={"host": "nowhere.invalid"})
    with pytest.raises(OSError, match="nowhere"):
        serve(app, nowhere)


def test_an_address_is_told_only_once_it_is_the_server_s_own(app: Flask, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with socket.create_server(("127.0.0.1", 0)) as other:
        changes = {"host": "127.0.0.1", "port": other.getsockname()[1]}
        settings = app.extensions[EXTENSION].settings.model_copy(update=changes)
        bridge = Bridge(app)
        with pytest.raises(SystemExit):
            asyncio.run(Server(configure(bridge, settings), bridge).serve())
    assert "address already in use" in caplog.text
    assert " is at http" not in caplog.text


def test_a_stream_can_also_be_read_by_any_other_server() -> None:
    class Lines:
        def lines(self, after: int) -> list[bytes]:
            return [b"line %d\n" % (after + 1)]

    assert list(StreamBody(Lines(), 4)) == [b"line 5\n"]  # type: ignore[arg-type]


def test_a_file_of_the_page_is_packed_where_that_is_understood(app: Flask) -> None:
    client = app.test_client()
    client.post("/setup", json={"email": "ada@example.org", "password": "long enough"})
    address = next(part for part in client.get("/settings").text.split('"') if part.endswith("joined/base.css"))
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert client.get(address).text.encode() != packed.data
    assert client.get("/static/old/mermaid_frame.html").headers["X-Frame-Options"] == "SAMEORIGIN"
    assert client.get("/favicon.ico").mimetype == "image/svg+xml"
