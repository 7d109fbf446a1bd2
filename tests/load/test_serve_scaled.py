"""`make serve-scaled`: one command starts PostgreSQL, Valkey and two servers, and one signal ends all of them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes import RecordingModel, saying
from tests.live_server import LiveServer
from tests.load.crash import messages_of
from tests.load.test_failing_storage import eventually

pytestmark = pytest.mark.live


def traces(server: LiveServer) -> list[str]:
    """What still runs of it: files that its engines have only while they run, and its port."""
    engines = server.data_dir / "engines"
    left = [name for name in ("postgresql/postmaster.pid", "valkey/valkey.sock") if (engines / name).exists()]
    with socket.socket() as probe:
        return left if probe.connect_ex(("127.0.0.1", server.port)) else [*left, "the port"]


@pytest.fixture
def scaled(tmp_path: Path, recording_model: RecordingModel, joined_page: None) -> Iterator[LiveServer]:
    recording_model.scripts |= {"main": saying("Hello from two."), "cheap": saying("A Title")}
    server = LiveServer(tmp_path, recording_model.environ, program="setup/scaled.py")
    yield server.start()
    server.stop()


def test_one_command_serves_and_ctrl_c_ends_all(scaled: LiveServer) -> None:
    ada = scaled.sign_up()
    conversation_id = ada.create_conversation()
    list(ada.send(conversation_id, "Who is there?"))
    assert [message["text"] for message in messages_of(ada, conversation_id)] == ["Who is there?", "Hello from two."]
    eventually(lambda: ada.get("/readyz").json()["broker"] == "ok")
    with pytest.raises(AssertionError, match="Another serve-scaled uses"):
        LiveServer(scaled.folder, program=scaled.program).start()
    assert scaled.interrupt() == 0
    assert traces(scaled) == []


@pytest.mark.proof
def test_a_kill_under_a_running_turn_stops_no_later_start(scaled: LiveServer, recording_model: RecordingModel) -> None:
    recording_model.scripts["main"] = saying("half", " whole", pause_after=1)
    ada = scaled.sign_up()
    conversation_id = ada.create_conversation()
    events = ada.send(conversation_id, "Who is there?")
    next(event for event in events if event.get("text"))
    scaled.kill()
    scaled.start()
    eventually(lambda: scaled.log().count("served by 2 processes") == 2)
    eventually(lambda: messages_of(ada, conversation_id)[-1]["status"] == "interrupted")
    assert messages_of(ada, conversation_id)[-1]["text"] == "half"
    recording_model.scripts["main"] = saying("Still here.")
    list(ada.send(conversation_id, "And now?"))
    assert messages_of(ada, conversation_id)[-1]["text"] == "Still here."
