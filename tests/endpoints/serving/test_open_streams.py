"""An event stream ends soon after the session or token that opened it; the answer itself goes on."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from flask import Flask

from database.accounts.api_tokens import create_token, revoke_token
from database.accounts.sessions import create_session, revoke_all_sessions
from database.accounts.users import set_disabled
from endpoints.http.guards import still_valid
from endpoints.http.scope import EXTENSION, Access
from endpoints.serving import open_streams
from endpoints.serving.asgi_server import Bridge
from language_models.testing import Hold, Reply, ScriptedChatModel
from tests.database.conftest import statements
from tests.endpoints.conftest import account
from tests.fakes import RecordingModel, saying
from tests.live_server import LiveServer, new_account

from .test_asgi_server import until_text
from .test_bridge import JSON, Connection, cookie_of

pytestmark = pytest.mark.contract
__all__ = ["statements"]

MOST_HEARTBEATS = 12


@pytest.fixture
def hold() -> Hold:
    return Hold()


@pytest.fixture
def main_model(hold: Hold) -> ScriptedChatModel:
    """Says two words, and waits in between until it is told to go on."""
    return ScriptedChatModel(replies=lambda _prompt: Reply("It is ", hold, "forty-two."))


def lines_of(connection: Connection) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in connection.body.splitlines()]


def test_an_answer_s_stream_ends_with_its_session_and_the_answer_goes_on(app: Flask, hold: Hold) -> None:
    ada, database = account(app, "ada@example.org"), app.extensions[EXTENSION].database
    conversation_id, bridge = ada.new_conversation(), Bridge(app)
    body = [b'{"messageText": "What is it?"}']
    asking = Connection("POST", f"/send_message/{conversation_id}", body=body, headers=[JSON, cookie_of(ada)])

    async def scene() -> None:
        watching = asyncio.create_task(bridge(asking.scope, asking.receive, asking.send))
        await asking.got_text.wait()
        await bridge._streams.look()
        assert not watching.done()
        revoke_all_sessions(database=database, user_email=ada.email)
        await bridge._streams.look()
        await watching

    asyncio.run(scene())
    *_, before, last = lines_of(asking)
    assert last == {
        "seq": before["seq"], "text": "", "status": "", "error": {"code": "unauthorized", "message": "Please log in."}
    }  # fmt: skip
    assert asking.sent[-1].get("more_body", False) is False
    assert bridge._streams._open == {}
    ada.client.set_cookie("anaphora_session", create_session(database=database, user_email=ada.email))
    hold.release()
    answer_id = next(line["message_ids"]["response_message_id"] for line in lines_of(asking) if "message_ids" in line)
    rest = [orjson.loads(line) for line in ada.get(f"/stream/{answer_id}?after={last['seq']}").data.splitlines()]
    assert "".join(event["text"] for event in rest) == "forty-two."
    assert (rest[0]["seq"], rest[-1]["answer_status"]) == (last["seq"] + 1, "complete")


def test_a_stream_of_changes_ends_with_its_session_without_a_change(app: Flask) -> None:
    ada, database = account(app, "ada@example.org"), app.extensions[EXTENSION].database
    ada.new_conversation()
    watching, bridge = Connection("GET", "/events", headers=[cookie_of(ada)]), Bridge(app)

    async def scene() -> None:
        task = asyncio.create_task(bridge(watching.scope, watching.receive, watching.send))
        while not watching.body:
            await asyncio.sleep(0.001)
        set_disabled(database=database, user_email=ada.email, disabled=True)
        await bridge._streams.look()
        await task

    asyncio.run(scene())
    hello, last = lines_of(watching)
    assert (hello["hello"], last["seq"], last["error"]["code"]) == (True, hello["seq"], "unauthorized")


def test_one_look_asks_one_statement_of_each_kind_for_all_streams(app: Flask, statements: Any) -> None:
    database = app.extensions[EXTENSION].database
    accesses, revoked = set[Access](), set[Access]()
    for number in range(6):
        person = account(app, f"person-{number}@example.org")
        own: dict[str, Any] = {"database": database, "user_email": person.email}
        session = Access(user_email=person.email, by="session", credential=create_session(**own))
        row, secret = create_token(**own, name="script")
        token = Access(user_email=person.email, by="token", credential=secret)
        accesses |= {session, token}
        if number == 0:
            revoke_all_sessions(**own)
            revoked |= {session}
        elif number == 1:
            revoke_token(**own, token_id=row.token_id)
            revoked |= {token}
        elif number == 2:
            set_disabled(**own, disabled=True)
            revoked |= {session, token}
    with statements() as asked:
        assert accesses - still_valid(database, accesses) == revoked
    assert len(asked) == 2


def test_nothing_is_asked_while_nobody_watches(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_streams, "still_valid", lambda *_: pytest.fail("the store was asked"))
    asyncio.run(Bridge(app)._streams.look())


def test_a_server_looks_by_itself(shared_server: LiveServer, shared_model: RecordingModel) -> None:
    shared_model.scripts["main"] = saying("one ", "two", pause_after=1)
    email = "logged-out@example.org"
    client, elsewhere = new_account(shared_server, email), shared_server.sign_in(email)
    events = client.send(client.create_conversation(), "Count")
    ids = until_text(events)
    assert elsewhere.delete("/sessions").status == 200
    last, heartbeats = None, 0
    while last is None or last.get("heartbeat"):
        heartbeats += last is not None
        assert heartbeats < MOST_HEARTBEATS, "the stream goes on"
        last = next(events)
    assert last["error"]["code"] == "unauthorized"
    assert list(events) == []
    shared_model.release()
    rest = list(elsewhere.stream(f"/stream/{ids['response_message_id']}?after={last['seq']}"))
    assert ("".join(event["text"] for event in rest), rest[-1]["answer_status"]) == ("two", "complete")
