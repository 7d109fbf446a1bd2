"""A server whose knowledge base is broken: it starts, answers, says what is missing, and goes on when it is mended."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from endpoints.http.openapi import routes
from endpoints.http.scope import EXTENSION
from settings import Settings
from tests.attack import knowledge_probes
from tests.endpoints.conftest import Person, refused
from tests.fakes import RecordingModel
from tests.live_server import LiveServer
from tests.load.test_failing_storage import eventually

pytestmark = pytest.mark.only_sqlite

GARBAGE = os.urandom(16_384)


@pytest.fixture
def broken(settings: Settings) -> Path:
    """A file where the knowledge base will be, and which is none."""
    file = Path(settings.users_dir) / "pkb.sqlite"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(GARBAGE)
    return file


def test_every_route_of_the_knowledge_base_says_that_it_is_not_there(broken: Path, app: Flask, ada: Person) -> None:
    ids = {**knowledge_probes.MISSING, "conversation_id": ada.new_conversation()}
    probes = {(probe.method, probe.path.partition("?")[0]): probe for probe in knowledge_probes.BY_ADDRESS}
    asked = 0
    for path, method, view in routes(app):
        if not path.startswith("/pkb/") or (hasattr(view, "body_model") and (method, path) not in probes):
            continue
        answer = probes.get((method, path), knowledge_probes.Probe(method, path)).ask(ada, ids)
        if path.endswith("/pinned") and answer.status_code == 200:
            continue  # nothing is pinned there
        assert refused(answer) == (503, "knowledge_unavailable"), (method, path)
        assert int(answer.headers["Retry-After"]) > 0
        assert str(broken) not in answer.get_data(as_text=True)
        asked += 1
    assert asked > 35
    assert broken.read_bytes() == GARBAGE


def test_what_lies_elsewhere_is_not_touched_by_it(broken: Path, app: Flask, ada: Person) -> None:
    conversation_id = ada.new_conversation()
    events = ada.say(conversation_id, "Hello")
    assert "".join(event["text"] for event in events) == "It is forty-two."
    ready = app.test_client().get("/readyz")
    assert (ready.status_code, ready.json["status"], ready.json["knowledge"]) == (200, "degraded", "failed")
    resolved = ada.get("/references/resolve?ref=@claim_1").json
    assert resolved["status"] == "unavailable"


def test_a_server_whose_memories_are_being_checked_says_that_it_is_not_whole(app: Flask, ada: Person) -> None:
    knowledge = app.extensions[EXTENSION].knowledge
    assert refused(ada.get("/pkb/claims/none"))[0] == 404
    knowledge.hold(60.0)
    ready = app.test_client().get("/readyz")
    assert (ready.status_code, ready.json["status"], ready.json["knowledge"]) == (200, "degraded", "checking")
    assert refused(ada.get("/pkb/claims/none")) == (503, "knowledge_unavailable")
    knowledge.hold(None)
    assert app.test_client().get("/readyz").json["status"] == "ready"


def test_a_server_starts_without_its_knowledge_base_and_takes_it_up_when_it_is_mended(
    start_server: Callable[..., LiveServer], recording_model: RecordingModel
) -> None:
    server = start_server(**recording_model.environ)
    client = server.sign_up()
    assert client.post("/pkb/claims", {"statement": "I run at dawn", "friendly_id": "my_mornings"}).status == 201
    server.stop()
    file = server.file("pkb.sqlite")
    whole = file.read_bytes()
    file.write_bytes(GARBAGE)
    server.start()
    eventually(lambda: client.get("/readyz").json()["knowledge"] == "failed")
    assert client.get("/pkb/claims/my_mornings").status == 503
    events = list(client.send(client.create_conversation(), "@my_mornings how am I?"))
    assert {entry["status"] for entry in events[0]["references"]} == {"unavailable"}
    assert "".join(event["text"] for event in events) == "Understood."
    eventually(lambda: "pkb.sqlite is damaged" in server.log())
    mended = file.with_suffix(".mended")
    mended.write_bytes(whole)
    mended.replace(file)
    eventually(lambda: client.get("/readyz").json()["knowledge"] == "ok")
    events = list(client.send(client.create_conversation(), "@my_mornings how am I?"))
    assert events[0]["references"][0]["status"] == "resolved"
    assert "I run at dawn" in recording_model.prompt()
