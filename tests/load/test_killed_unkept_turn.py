"""A server that dies in the middle of a turn that is not kept leaves nothing of it, and all of what is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.fakes import RecordingModel, saying
from tests.live_server import LiveServer
from tests.load.invariants import broken_invariants


def test_a_kill_leaves_nothing_of_a_turn_that_is_not_kept(
    live_server: LiveServer, recording_model: RecordingModel
) -> None:
    client = live_server.sign_up()
    conversation_id = client.create_conversation()
    assert list(client.send(conversation_id, "How much water?"))[-1]["done"]
    address = f"/list_messages_by_conversation/{conversation_id}"
    before = client.get(address).json()
    assert client.put(f"/make_conversation_stateless/{conversation_id}").json()["stateless"] is True
    details = client.get(f"/get_conversation_details/{conversation_id}").json()

    recording_model.scripts["main"] = saying("Parsley ", "salt", pause_after=1)
    events = client.send(conversation_id, "My secret?")
    assert next(event for event in events if event["text"])["text"] == "Parsley "
    assert len(client.get(address).json()) == 4
    live_server.kill()
    live_server.start()

    assert broken_invariants(live_server.users_dir) == {}
    assert client.get(address).json() == before
    assert client.get(f"/get_conversation_details/{conversation_id}").json() == details
    with closing(sqlite3.connect(Path(live_server.users_dir) / "users.db")) as connection:
        stored = "\n".join(connection.iterdump())
    assert "How much water?" in stored
    assert "secret" not in stored
    assert "Parsley" not in stored
