"""A server that dies while it makes an answer again loses neither the answer nor what was said of the new one."""

from __future__ import annotations

from tests.fakes import RecordingModel, saying
from tests.live_server import LiveServer
from tests.load.invariants import broken_invariants


def test_a_kill_in_the_middle_keeps_the_answer_and_marks_the_attempt(
    live_server: LiveServer, recording_model: RecordingModel
) -> None:
    client = live_server.sign_up()
    conversation_id = client.create_conversation()
    assert list(client.send(conversation_id, "What is it?"))[-1]["done"]
    address = f"/list_messages_by_conversation/{conversation_id}"
    before = client.get(address).json()[1]
    recording_model.scripts["main"] = saying("Half of ", "it", pause_after=1)
    events = client.stream(f"/regenerate/{conversation_id}/{before['message_id']}", {})
    assert next(event for event in events if event["text"])["text"] == "Half of "
    live_server.kill()
    live_server.start()
    assert broken_invariants(live_server.users_dir) == {}
    after = client.get(address).json()[1]
    assert (after["text"], after["status"]) == (before["text"], "complete")
    assert after["message_short_hash"] == before["message_short_hash"]
    assert [(each["status"], each["chosen"]) for each in after["variants"]] == [
        ("complete", True),
        ("interrupted", False),
    ]
    assert client.put(f"/variant/{before['message_id']}/2").status == 200
    assert client.get(address).json()[1]["text"] == "Half of "
    recording_model.release()
    again = list(client.stream(f"/regenerate/{conversation_id}/{before['message_id']}", {}))
    assert "".join(event["text"] for event in again) == "Half of it"
    assert broken_invariants(live_server.users_dir) == {}
