"""A server that dies while a call waits for consent still makes the call once the person agrees."""

from __future__ import annotations

import sys
from typing import Any

from chat.tools.foreign.configuration import ForeignServer, ForeignTool, keep_servers
from tests.fakes import Answer, RecordingModel, calling, saying
from tests.live_server import LiveServer
from tests.load.invariants import broken_invariants

ARGUMENTS = '{"source_timezone":"UTC","time":"12:00","target_timezone":"Asia/Tokyo"}'


def test_a_kill_between_asking_and_deciding_loses_neither(
    live_server: LiveServer, recording_model: RecordingModel
) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        told = [message["content"] for message in request["messages"] if message["role"] == "tool"]
        return saying("It is nine.") if "21:00" in "".join(told) else calling(("time__convert_time", ARGUMENTS))

    recording_model.scripts["main"] = answer
    time = ForeignServer(
        name="time",
        command=(sys.executable, "-m", "mcp_server_time", "--local-timezone", "UTC"),
        seconds=300,
        tools=(ForeignTool(name="convert_time", description="Convert a time."),),
    )
    live_server.stop()
    keep_servers(live_server.data_dir, (time,))
    live_server.start()
    client = live_server.sign_up()
    conversation_id = client.create_conversation()
    events = list(client.send(conversation_id, "How late is it in Tokyo at noon?", options={"use_tools": True}))
    assert events[-1]["answer_status"] == "complete"
    (proposal,) = client.get("/api/proposals").json()
    live_server.kill()
    live_server.start()
    accepted = client.post(f"/api/proposals/{proposal['proposal_id']}/accept", {"scope": "once"})
    assert accepted.status == 200, accepted.text
    assert list(client.stream(f"/stream/{proposal['source']['message_id']}"))[-1]["answer_status"] == "complete"
    answered = client.get(f"/list_messages_by_conversation/{conversation_id}").json()[1]
    assert (answered["text"], [part["status"] for part in answered["parts"]]) == ("It is nine.", ["complete"])
    assert broken_invariants(live_server.users_dir) == {}
