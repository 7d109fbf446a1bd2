"""A server that dies in an answer that called tools keeps the calls with what was said."""

from __future__ import annotations

from typing import Any

from tests.fakes import Answer, RecordingModel, calling, saying
from tests.live_server import LiveServer
from tests.load.invariants import broken_invariants


def test_a_kill_after_a_call_keeps_the_call_and_the_next_turn_goes_on(
    live_server: LiveServer, recording_model: RecordingModel
) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        if any(message["role"] == "tool" for message in request["messages"]):
            return saying("Half of ", pause_after=1)
        return calling(("list_conversations", '{"query":"x"}'), saying=["Wait."])

    recording_model.scripts["main"] = answer
    client = live_server.sign_up()
    conversation_id = client.create_conversation()
    events = client.send(conversation_id, "What is it?", options={"use_tools": True})
    assert next(event for event in events if event["text"].endswith("Half of "))
    live_server.kill()
    live_server.start()
    assert broken_invariants(live_server.users_dir) == {}
    answered = client.get(f"/list_messages_by_conversation/{conversation_id}").json()[1]
    assert (answered["text"], answered["status"]) == ("Wait.\n\nHalf of ", "interrupted")
    (call,) = answered["parts"]
    assert (call["name"], call["status"], call["result"]["success"]) == ("list_conversations", "complete", True)
    recording_model.scripts["main"] = saying("Fine.")
    assert list(client.send(conversation_id, "Go on"))[-1]["done"]
    assert broken_invariants(live_server.users_dir) == {}
