"""`GET /events`: a second tab sees what the first one does, and nobody else's things."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from flask import Flask

from chat.runtime import changes as feeds
from database.accounts.sessions import revoke_all_sessions
from database.changes import renew_epoch
from endpoints.http.scope import EXTENSION
from tests.endpoints.conftest import Person, account, refused
from tests.http_client import told
from tests.live_server import LiveServer

pytestmark = pytest.mark.contract


def watched(person: Person, **query: object) -> Iterator[dict[str, Any]]:
    answer = person.get("/events", query_string=query)
    assert answer.status_code == 200
    assert answer.mimetype == "application/x-ndjson"
    return (orjson.loads(line) for chunk in answer.iter_encoded() for line in chunk.splitlines())


def signed_out_after(seq: int) -> dict[str, Any]:
    """The last line of a stream whose session or token has ended."""
    return {"seq": seq, "text": "", "status": "", "error": {"code": "unauthorized", "message": "Please log in."}}


@pytest.fixture
def ada(app: Flask) -> Person:
    return account(app, "ada@example.org")


def test_a_second_tab_sees_what_the_first_does(ada: Person) -> None:
    second = watched(ada)
    hello = next(second)
    assert hello == {"seq": 0, "hello": True, "epoch": hello["epoch"]}
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "What is it?")
    ada.put(f"/conversations/{conversation_id}/title", json={"title": "The answer"})
    told = [next(second) for _ in range(5)]
    assert [(each["kind"], each["change"]) for each in told] == [
        ("conversation", "created"),
        ("turn", "created"),
        ("turn", "changed"),
        ("conversation", "changed"),
        ("conversation", "changed"),
    ]
    assert [each["seq"] for each in told] == [1, 2, 3, 4, 5]
    assert told[1]["conversation_id"] == conversation_id
    assert told[4]["fields"] == {"title": "The answer"}
    assert list(next(watched(ada, after=4)).items()) == list(told[4].items())


def test_nobody_elses_changes_are_told(app: Flask, ada: Person) -> None:
    eve = account(app, "eve@example.org")
    ada.new_conversation()
    hers = eve.new_conversation()
    told = next(watched(eve, after=0))
    assert (told["seq"], told["id"]) == (1, hers)


def test_a_number_from_elsewhere_is_answered_with_a_reset(ada: Person) -> None:
    told = next(watched(ada, after=99))
    assert (told["seq"], told["reset"]) == (0, True)


def test_a_number_of_another_epoch_is_answered_with_a_reset(app: Flask, ada: Person) -> None:
    ada.new_conversation()
    epoch = next(watched(ada))["epoch"]
    assert next(watched(ada, after=0, epoch=epoch))["kind"] == "conversation"
    renew_epoch(database=app.extensions[EXTENSION].database)
    told = next(watched(ada, after=0, epoch=epoch))
    assert told == {"seq": 1, "reset": True, "epoch": next(watched(ada))["epoch"]}
    assert told["epoch"] != epoch


def test_the_page_is_told_from_where_on_it_watches(ada: Person) -> None:
    ada.new_conversation()
    page = ada.get("/interface/", headers={"Accept": "text/html"}).text
    bootstrap = orjson.loads(re.search(r'id="bootstrap"[^>]*>(.*?)</script>', page, re.DOTALL)[1])  # type: ignore[index]
    made = ada.new_conversation()
    position = bootstrap["changes"]
    assert next(watched(ada, after=position["seq"], epoch=position["epoch"]))["id"] == made


def test_the_stream_ends_with_the_session_that_opened_it(app: Flask, ada: Person) -> None:
    stream = watched(ada)
    next(stream)
    ada.new_conversation()
    revoke_all_sessions(database=app.extensions[EXTENSION].database, user_email=ada.email)
    assert list(stream) == [signed_out_after(0)]


def test_a_stream_that_a_token_opened_ends_with_the_token(app: Flask, ada: Person) -> None:
    made = ada.post("/api_tokens", json={"name": "script", "read_only": True}).json
    client = app.test_client()
    answer = client.get("/events", headers={"Authorization": f"Bearer {made['token']}"})
    stream = answer.iter_encoded()
    next(stream)
    ada.new_conversation()
    assert b'"created"' in next(stream)
    ada.delete(f"/api_tokens/{made['token_id']}")
    ada.new_conversation()
    assert list(map(orjson.loads, stream)) == [signed_out_after(1)]


@pytest.mark.parametrize("after", ["-1", "x", str(2**70)])
def test_a_number_that_is_none_is_refused(ada: Person, after: str) -> None:
    assert refused(ada.get(f"/events?after={after}")) == (400, "bad_request")


def test_too_many_streams_of_one_person_are_refused(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_WATCHERS", 1)
    first = watched(ada)
    next(first)
    answer = ada.get("/events")
    assert refused(answer) == (429, "rate_limited")
    assert int(answer.headers["Retry-After"]) > 0
    first.close()  # type: ignore[attr-defined]


def test_the_servers_loop_tails_the_changes_and_ends_the_stream_when_it_stops(live_server: LiveServer) -> None:
    first, second = live_server.sign_up(), live_server.sign_in("ada@example.org")
    lines = told(second.stream("/events"))
    assert next(lines)["hello"]
    made = first.create_conversation()
    change = next(lines)
    assert (change["kind"], change["change"], change["id"]) == ("conversation", "created", made)
    assert live_server.stop() in (0, -signal.SIGTERM)
    assert list(lines) == []
    # The stream has ended by itself: nobody had to break it off.
    assert "timeout graceful shutdown exceeded" not in live_server.log()
