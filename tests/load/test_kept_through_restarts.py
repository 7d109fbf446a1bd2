"""Backlinks, undo, the bin and variants: there after a server was killed, in a copy, and for nobody else."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any

import pytest

from database.connection import close_store, open_store
from database.turns.turns import accept_turn
from tests.fakes import RecordingModel, saying
from tests.http_client import Client, told
from tests.live_server import LiveServer
from tests.load.invariants import broken_invariants


@pytest.fixture
def server(live_server: LiveServer) -> LiveServer:
    """A server that a test may kill."""
    return live_server


def talk(client: Client, title: str, *texts: str) -> str:
    """The id of a conversation of that title in which `texts` were answered."""
    conversation_id = client.create_conversation()
    client.put(f"/conversations/{conversation_id}/title", {"title": title})
    for text in texts:
        list(client.send(conversation_id, text))
    return conversation_id


def listed(client: Client, conversation_id: str) -> list[dict[str, Any]]:
    """Its messages."""
    messages: list[dict[str, Any]] = client.get(f"/list_messages_by_conversation/{conversation_id}").json()
    return messages


def reference(client: Client, conversation_id: str, index: int) -> str:
    """What names its message, counted from 1."""
    friendly_id = client.get(f"/get_conversation_details/{conversation_id}").json()["conversation_friendly_id"]
    return f"@conversation_{friendly_id}_message_{listed(client, conversation_id)[index - 1]['message_short_hash']}"


def referring(client: Client, message_id: str) -> list[str]:
    """The conversations that refer to a message, in order of their ids."""
    return sorted(each["conversation_id"] for each in client.get(f"/messages/{message_id}/backlinks").json())


def clone(client: Client, conversation_id: str) -> str:
    """The id of a copy."""
    return str(client.post(f"/clone_conversation/{conversation_id}", {}).json()["conversation_id"])


def start_anew(server: LiveServer) -> None:
    """End it without a word, and start it."""
    server.kill()
    server.start()


def accepted_by_the_dead(server: LiveServer, conversation_id: str, text: str) -> str:
    """The id of the answer to `text`, as a server leaves it that was killed right after it had accepted that."""
    who = {"database": open_store(str(server.users_dir)), "user_email": conversation_id.rpartition("_")[0]}
    try:
        return accept_turn(**who, conversation_id=conversation_id, text=text, config={}).response_message_id
    finally:
        close_store(who["database"].folder)


def test_backlinks_outlive_a_kill_and_lead_from_copies_too(server: LiveServer) -> None:
    ada = server.sign_up()
    target = talk(ada, "Growing tomatoes", "How much water?")
    message = listed(ada, target)[0]
    source = talk(ada, "Watering", f"What of {reference(ada, target, 1)}?")
    killed = talk(ada, "Killed before it could tell")
    ref = reference(ada, target, 1)
    server.kill()
    answer = accepted_by_the_dead(server, killed, f"And {ref}?")
    server.start()
    first, *_, last = ada.stream(f"/stream/{answer}?after=0")
    assert [(entry["ref"], entry["status"]) for entry in first["references"]] == [(ref, "resolved")]
    assert last["answer_status"] == "interrupted"
    assert referring(ada, message["message_id"]) == sorted([source, killed])
    assert ada.delete(f"/delete_conversation/{killed}").status == 200

    copy_of_source, copy_of_target = clone(ada, source), clone(ada, target)
    start_anew(server)
    assert referring(ada, message["message_id"]) == sorted([source, copy_of_source])
    assert listed(ada, target)[0]["backlink_count"] == 2
    assert referring(ada, listed(ada, copy_of_target)[0]["message_id"]) == []

    assert ada.delete(f"/delete_conversation/{source}").status == 200
    assert referring(ada, message["message_id"]) == [copy_of_source]
    assert ada.post(f"/restore_conversation/{source}", {}).status == 200
    assert referring(ada, message["message_id"]) == sorted([source, copy_of_source])
    assert broken_invariants(server.users_dir) == {}


def test_what_was_deleted_is_taken_back_after_a_kill(server: LiveServer) -> None:
    ada = server.sign_up()
    kept = talk(ada, "Growing tomatoes", "How much water?", "How much light?")
    gone = talk(ada, "Painting the fence", "Which colour?")
    before, name = listed(ada, kept), reference(ada, gone, 1)
    second = before[1]
    assert ada.delete(f"/delete_message_from_conversation/{kept}/{second['message_id']}/2").status == 200
    assert ada.delete(f"/delete_conversation/{gone}").status == 200
    copy = clone(ada, kept)
    start_anew(server)

    assert [each["conversation_id"] for each in ada.get("/bin/assistant").json()] == [gone]
    assert ada.post(f"/restore_message/{kept}/{second['message_id']}", {}).status == 200
    assert ada.post(f"/restore_conversation/{gone}", {}).status == 200
    assert [each["message_id"] for each in listed(ada, kept)] == [each["message_id"] for each in before]
    assert [each["text"] for each in listed(ada, copy)] == [each["text"] for each in before if each is not second]
    assert reference(ada, gone, 1) == name
    assert ada.get("/bin/assistant").json() == []
    assert broken_invariants(server.users_dir) == {}


def test_variants_outlive_a_kill_and_a_copy_chooses_its_own(
    server: LiveServer, recording_model: RecordingModel
) -> None:
    ada = server.sign_up()
    conversation_id = talk(ada, "Growing tomatoes", "How much water?")
    answer = listed(ada, conversation_id)[1]["message_id"]
    recording_model.scripts["main"] = saying("Twice a day.")
    list(ada.stream(f"/regenerate/{conversation_id}/{answer}", {}))
    copy = clone(ada, conversation_id)
    start_anew(server)

    for each in (conversation_id, copy):
        assert [variant["chosen"] for variant in listed(ada, each)[1]["variants"]] == [False, True]
    assert ada.put(f"/variant/{listed(ada, copy)[1]['message_id']}/1").status == 200
    start_anew(server)
    assert [listed(ada, each)[1]["text"] for each in (conversation_id, copy)] == ["Twice a day.", "Understood."]
    assert broken_invariants(server.users_dir) == {}


def test_after_a_kill_it_is_all_as_missing_to_others_as_before(
    server: LiveServer, recording_model: RecordingModel
) -> None:
    ada = server.sign_up()
    mine = talk(ada, "Growing tomatoes", "How much water?", "How much light?")
    gone = talk(ada, "Painting the fence", "Which colour?")
    first, answer, third = (each["message_id"] for each in listed(ada, mine)[:3])
    recording_model.scripts["main"] = saying("Twice a day.")
    list(ada.stream(f"/regenerate/{mine}/{answer}", {}))
    ada.delete(f"/delete_message_from_conversation/{mine}/{third}/3")
    ada.delete(f"/delete_conversation/{gone}")
    eve = server.sign_up("eve@example.org")
    start_anew(server)

    tries = [
        ("GET", f"/messages/{first}/backlinks", "/messages/nothing/backlinks"),
        ("PUT", f"/variant/{answer}/1", "/variant/nothing/1"),
        ("POST", f"/restore_message/{mine}/{third}", "/restore_message/nothing/nothing"),
        ("POST", f"/restore_conversation/{gone}", "/restore_conversation/nothing"),
        ("DELETE", f"/bin/{gone}", "/bin/nothing"),
    ]
    for method, theirs, missing in tries:
        replies = [eve.request(method, path, None if method == "GET" else {}) for path in (theirs, missing)]
        assert [reply.status for reply in replies] == [404, 404], theirs
        assert replies[0].json()["code"] == replies[1].json()["code"], theirs
    assert eve.get("/bin/assistant").json() == []
    assert len(listed(ada, mine)) == 3
    assert [each["conversation_id"] for each in ada.get("/bin/assistant").json()] == [gone]


def test_a_message_whose_response_was_lost_is_sent_again_and_stored_once(
    server: LiveServer, recording_model: RecordingModel
) -> None:
    ada = server.sign_up()
    conversation_id = ada.create_conversation()
    body = {"messageText": "How much water?", "client_message_id": "sent-once"}
    cookies = "; ".join(f"{name}={value}" for name, value in ada.cookies.items())
    connection = HTTPConnection(ada.host, ada.port)
    headers = {"Content-Type": "application/json", "Origin": ada.origin, "Cookie": cookies}
    connection.request("POST", f"/send_message/{conversation_id}", json.dumps(body), headers)
    recording_model.wait_until(lambda model: bool(model.requests_to("main")))
    connection.close()

    first = list(told(ada.stream(f"/send_message/{conversation_id}", body)))
    assert first[0]["seq"] == 1
    assert first[-1]["answer_status"] == "complete"
    start_anew(server)
    assert list(told(ada.stream(f"/send_message/{conversation_id}", body))) == first
    assert [message["sender"] for message in listed(ada, conversation_id)] == ["user", "model"]
    assert len(recording_model.requests_to("main")) == 1
