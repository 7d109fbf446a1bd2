"""Sending, watching, stopping, and what can be done with the messages afterwards."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from flask import Flask

from language_models.testing import ScriptedChatModel
from tests.endpoints.conftest import Person, events_of, refused

pytestmark = pytest.mark.contract


def last_ids(events: list[dict[str, Any]]) -> dict[str, Any]:
    return [event["message_ids"] for event in events if "message_ids" in event][-1]


def test_an_answer_is_a_numbered_stream_that_begins_with_the_report_and_ends_with_done(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    answer = ada.post(f"/send_message/{conversation_id}", json={"messageText": "What is it?"})
    events = events_of(answer)
    assert answer.mimetype == "application/x-ndjson"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["references"] == []
    assert events[-1]["done"] is True
    assert "".join(event["text"] for event in events) == "It is forty-two."
    assert all(isinstance(event["status"], str) for event in events)


@pytest.mark.parametrize("switch", ["use_pkb", "use_documents"])
@pytest.mark.parametrize("value", ["false", 0, 1, None, []])
def test_a_switch_that_is_neither_true_nor_false_is_refused(switch: str, value: Any, ada: Person) -> None:
    conversation_id = ada.new_conversation()
    body = {"messageText": "What is it?", "checkboxes": {switch: value}}
    answer = ada.post(f"/send_message/{conversation_id}", json=body)
    assert refused(answer) == (400, "bad_request")
    assert answer.json["details"][0]["loc"] == ["checkboxes"]
    assert ada.get(f"/list_messages_by_conversation/{conversation_id}").json == []


def test_unknown_switches_are_kept_with_those_that_were_given(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    switches = {"use_pkb": False, "of_another_client": "false"}
    body = {"messageText": "What is it?", "checkboxes": switches}
    assert ada.post(f"/send_message/{conversation_id}", json=body).status_code == 200
    question, _ = ada.get(f"/list_messages_by_conversation/{conversation_id}").json
    assert question["config"]["checkboxes"] == switches


def test_what_is_streamed_is_what_is_listed(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ids = last_ids(ada.say(conversation_id, "What is it?"))
    question, answer = ada.get(f"/list_messages_by_conversation/{conversation_id}").json
    assert question["message_id"] == ids["user_message_id"]
    assert question["message_short_hash"] == ids["user_message_short_hash"]
    assert answer["message_short_hash"] == ids["response_message_short_hash"]
    assert (question["message_index"], answer["message_index"]) == (1, 2)
    assert (answer["text"], answer["status"]) == ("It is forty-two.", "complete")


@pytest.mark.parametrize("after", [0, 1, 3, 5])
def test_a_finished_answer_can_be_watched_again_from_any_event(after: int, ada: Person) -> None:
    events = ada.say(ada.new_conversation(), "What is it?")
    again = ada.get(f"/stream/{last_ids(events)['response_message_id']}?after={after}")
    assert events_of(again) == events[after:]


def test_the_position_of_an_earlier_attempt_is_gone(ada: Person) -> None:
    events = ada.say(ada.new_conversation(), "What is it?")
    again = ada.get(f"/stream/{last_ids(events)['response_message_id']}?after={len(events) + 1}")
    assert refused(again) == (410, "stream_expired")
    assert "never had as many" in again.json["message"]
    question = ada.get(f"/stream/{last_ids(events)['user_message_id']}")
    assert refused(question) == (404, "message_not_found")
    assert question.json["message"] == "No answer has this id. A question has no events: name its answer."


@pytest.fixture
def main_model() -> ScriptedChatModel:
    """Answers; but hangs in the middle where it is told to."""
    from language_models.testing import Hold, Reply

    def reply(prompt: Any) -> Reply:
        wait = "hang" in prompt[-1]["content"]
        return Reply("It is ", Hold(), "never") if wait else Reply("It is ", "forty-two.")

    return ScriptedChatModel(replies=reply)


def test_one_conversation_answers_one_message_at_a_time_and_keeps_what_was_said_when_stopped(
    app: Flask, ada: Person
) -> None:
    conversation_id = ada.new_conversation()
    first = ada.post(f"/send_message/{conversation_id}", json={"messageText": "hang"}, buffered=False)
    lines = iter(first.response)
    said, ids = "", {}
    while said != "It is ":
        for event in map(orjson.loads, next(lines).splitlines()):
            said += event["text"]
            ids = event.get("message_ids", ids)
    second = ada.post(f"/send_message/{conversation_id}", json={"messageText": "and?"})
    assert (second.status_code, second.json["code"]) == (409, "turn_in_progress")
    assert ada.post(f"/cancel_response/{conversation_id}").json == {"status": "ok", "cancelled": True}
    rest = [orjson.loads(line) for chunk in lines for line in chunk.splitlines()]
    assert (rest[-1]["done"], rest[-1]["answer_status"]) == (True, "cancelled")
    listed = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[-1]
    assert (listed["text"], listed["status"]) == ("It is ", "cancelled")
    assert listed["message_id"] == ids["response_message_id"]
    assert ada.post(f"/cancel_response/{conversation_id}").json["cancelled"] is False
    assert ada.say(conversation_id, "again")[-1]["done"] is True


def test_messages_are_edited_moved_and_deleted_by_id_and_index(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ids = last_ids(ada.say(conversation_id, "What is it?"))
    question, answer = ids["user_message_id"], ids["response_message_id"]
    edit = f"/edit_message_from_conversation/{conversation_id}/{question}"
    assert ada.post(f"{edit}/1", json={"text": "  What was it?\n"}).status_code == 200
    assert (stale := ada.post(f"{edit}/2", json={"text": "x"})).status_code == 409
    assert stale.json["code"] == "conflict"
    move = {"message_ids": [answer], "direction": "up"}
    assert ada.post(f"/move_messages_up_or_down/{conversation_id}", json=move).status_code == 200
    listed = ada.get(f"/list_messages_by_conversation/{conversation_id}").json
    assert [item["message_id"] for item in listed] == [answer, question]
    assert (listed[1]["text"], listed[1]["message_short_hash"]) == (
        "  What was it?\n",
        ids["user_message_short_hash"],
    )
    gone = ada.delete(f"/delete_message_from_conversation/{conversation_id}/{answer}/1")
    assert gone.status_code == 200
    assert [item["message_index"] for item in ada.get(f"/list_messages_by_conversation/{conversation_id}").json] == [1]


def test_a_window_of_messages(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    for number in range(3):
        ada.say(conversation_id, f"Question {number}")
    address = f"/list_messages_by_conversation/{conversation_id}"

    def indexes(query: str) -> list[int]:
        return [item["message_index"] for item in ada.get(f"{address}?{query}").json]

    short_hash = ada.get(address).json[3]["message_short_hash"]
    assert indexes("") == [1, 2, 3, 4, 5, 6]
    assert indexes("limit=2") == [5, 6]
    assert indexes("before=3&limit=5") == [1, 2]
    assert indexes("after=4") == [5, 6]
    assert 4 in indexes(f"around={short_hash}&limit=3")
    assert ada.get(f"{address}?around=zzzzzz").status_code == 404
    assert ada.get(f"{address}?around=3&before=2").status_code == 400
