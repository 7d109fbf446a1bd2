"""A server and another process work on the same conversations: neither ever shows what the other has changed since."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.fakes import RecordingModel, saying
from tests.http_client import Client
from tests.live_server import ROOT, LiveServer
from tests.load.crash import messages_of
from tests.load.invariants import broken_invariants

# Reads calls, one a line, as (module, function, keywords), and says what came of each.
OTHER_PROCESS = """
import importlib, json, sys
from database.connection import open_store
database = open_store(sys.argv[1])
for line in sys.stdin:
    module, function, keywords = json.loads(line)
    result = getattr(importlib.import_module(module), function)(database=database, **keywords)
    print(json.dumps(repr(result)), flush=True)
"""


@pytest.fixture
def ada(live_server: LiveServer) -> Client:
    return live_server.sign_up()


@pytest.fixture
def elsewhere(live_server: LiveServer) -> Iterator[Callable[..., str]]:
    """Call a function in the other process: elsewhere("database.history.editing", "edit_message", …)."""
    command = [sys.executable, "-c", OTHER_PROCESS, str(live_server.users_dir)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:

        def call(module: str, function: str, **keywords: Any) -> str:
            own = {"user_email": "ada@example.org"}
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps([module, function, own | keywords]) + "\n")
            process.stdin.flush()
            return str(json.loads(process.stdout.readline()))

        yield call
        assert process.stdin is not None
        process.stdin.close()


def spoken(ada: Client, model: RecordingModel, conversation_id: str) -> str:
    """The last prompt after a message that names message 2 of the conversation."""
    fid = ada.get(f"/get_conversation_details/{conversation_id}").json()["conversation_friendly_id"]
    list(ada.send(ada.create_conversation(), f"See @conversation_{fid}_message_2"))
    return model.prompt()


def test_what_another_process_changes_is_seen_at_once_everywhere(
    live_server: LiveServer, ada: Client, recording_model: RecordingModel, elsewhere: Callable[..., str]
) -> None:
    recording_model.scripts["main"] = saying("first words")
    conversation_id = ada.create_conversation()
    list(ada.send(conversation_id, "Say something"))
    answer = messages_of(ada, conversation_id)[1]
    assert "first words" in spoken(ada, recording_model, conversation_id)
    for number in range(15):
        text, title = f"edited elsewhere {number}", f"Named elsewhere {number}"
        which = {"conversation_id": conversation_id}
        elsewhere(
            "database.history.editing", "edit_message", **which, message_id=answer["message_id"], index=2, text=text
        )
        elsewhere("database.conversations.repository", "update_conversation", **which, changes={"title": title})
        assert ada.get(f"/get_conversation_details/{conversation_id}").json()["title"] == title
        assert f"{text}</pkb_item>" in spoken(ada, recording_model, conversation_id)
        here = f"edited here {number}"
        path = f"/edit_message_from_conversation/{conversation_id}/{answer['message_id']}/2"
        assert ada.post(path, {"text": here}).status == 200
        assert here in elsewhere("database.history.reading", "message_at", **which, index=2)
    elsewhere("database.conversations.repository", "delete_conversation", conversation_id=conversation_id)
    assert ada.get(f"/get_conversation_details/{conversation_id}").status == 404
    assert ada.post(f"/send_message/{conversation_id}", {"messageText": "gone?"}).status == 404


def test_turns_of_two_processes_in_one_conversation_take_their_turn(
    live_server: LiveServer, ada: Client, recording_model: RecordingModel, elsewhere: Callable[..., str]
) -> None:
    recording_model.scripts["main"] = saying("half", " whole", pause_after=1)
    conversation_id = ada.create_conversation()
    events = ada.send(conversation_id, "From the server")
    next(events)
    turn = {"conversation_id": conversation_id, "text": "From elsewhere", "config": {}}
    refusal = elsewhere("tests.load.test_two_processes", refusal_of_a_turn.__name__, **turn)
    assert "TurnInProgressError" in refusal
    recording_model.release()
    list(events)
    assert "AcceptedTurn" in elsewhere("database.turns.turns", "accept_turn", **turn)
    refused = ada.post(f"/send_message/{conversation_id}", {"messageText": "And me?"})
    assert (refused.status, refused.json()["code"]) == (409, "turn_in_progress")
    assert [message["text"] for message in messages_of(ada, conversation_id)][::2] == ["From the server", turn["text"]]
    assert broken_invariants(live_server.users_dir, at_rest=False) == {}


def refusal_of_a_turn(**turn: Any) -> str:
    """The name of the error that a turn is refused with."""
    from database.engine.errors import ConflictError
    from database.turns.turns import accept_turn

    try:
        accept_turn(**turn)
    except ConflictError as error:
        return type(error).__name__
    return "none"
