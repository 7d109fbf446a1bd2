"""A server that dies while an agent answers its inbox: the item waits again, and is answered once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.chat.conftest import wait_until
from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import LiveServer
from tests.load.invariants import broken_invariants
from tests.load.test_killed_agents import shown

MESSAGE = {"recipe": "general-discussion", "type": "chat_message"}


def inbox_of(client: Client, agent: str) -> dict[str, Any]:
    """The inbox of an agent."""
    return dict(client.get(f"/api/inbox/{agent}").json())


def messages_of(client: Client, conversation_id: str) -> list[dict[str, Any]]:
    return list(client.get(f"/list_messages_by_conversation/{conversation_id}").json())


def age_claims(users_dir: str) -> None:
    """Let the server that made the claims be gone for longer than a claim holds."""
    with closing(sqlite3.connect(Path(users_dir) / "users.db")) as connection:
        connection.execute("UPDATE inbox_items SET claimed_at = '2020-01-01T00:00:00.000000Z'")
        connection.commit()


def test_a_kill_in_the_middle_of_an_answer_loses_nothing_and_answers_nothing_twice(
    live_server: LiveServer, recording_model: RecordingModel
) -> None:
    recording_model.scripts["main"] = saying("Half of ", "it.", pause_after=1)
    client = live_server.sign_up()
    helper = {"title": "Helper", "system_prompt": "You help.", "service": "by_itself", "rules": [MESSAGE]}
    assert client.post("/api/agents", helper).status == 201
    room = client.create_conversation()
    for text in ("First?", "Second?"):
        posted = client.post(f"/api/conversations/{room}/activities", {**MESSAGE, "payload": {"text": text}})
        assert posted.status == 201
    recording_model.wait_until(lambda model: bool(model.requests_to("main")))
    live_server.kill()
    assert broken_invariants(live_server.users_dir) == {}
    recording_model.scripts["main"] = saying("Here.")
    live_server.start()
    waiting = inbox_of(client, "helper")
    assert (waiting["claimed"], waiting["pending"]) == (1, 1)
    assert shown(messages_of(client, room)) == []
    live_server.kill()
    age_claims(live_server.users_dir)
    live_server.start()
    wait_until(lambda: inbox_of(client, "helper")["done"] == 2)
    assert shown(messages_of(client, room)) == [("Helper", "Here.", "complete")] * 2
    told = client.get("/api/inbox/helper?state=done").json()["items"]
    assert len({item["answer_id"] for item in told}) == 2
    assert broken_invariants(live_server.users_dir) == {}
