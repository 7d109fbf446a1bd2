"""A message that is sent again under its `client_message_id` is one message, however often and wherever it is sent."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from database.connection import close_store
from endpoints.http.scope import EXTENSION
from language_models.testing import Hold, Reply, ScriptedChatModel
from server import build_state
from settings import Settings
from tests.endpoints.conftest import Person, events_of, refused

pytestmark = pytest.mark.contract

ID = "5c6d1f3a-0a3d-4c53-9d66-1f0a3b7d2e11"


@pytest.fixture
def hold() -> Hold:
    """At this the model waits where a prompt says "wait"."""
    return Hold()


@pytest.fixture
def main_model(hold: Hold) -> ScriptedChatModel:
    """Numbers its answers."""
    numbers = iter(range(1, 100))

    def reply(prompt: Any) -> Reply:
        steps = ("Answer ", hold) if "wait" in prompt[-1]["content"] else ("Answer ",)
        return Reply(*steps, str(next(numbers)))

    return ScriptedChatModel(replies=reply)


def send(person: Person, conversation_id: str, text: str = "How much water?", **more: Any) -> TestResponse:
    body = {"messageText": text, "client_message_id": ID, **more}
    return person.post(f"/send_message/{conversation_id}", json=body)


def listed(person: Person, conversation_id: str) -> list[dict[str, Any]]:
    return person.get(f"/list_messages_by_conversation/{conversation_id}").json  # type: ignore[no-any-return]


def test_sent_again_it_answers_with_the_same_stream_from_its_beginning(
    ada: Person, main_model: ScriptedChatModel
) -> None:
    conversation_id = ada.new_conversation()
    first = events_of(send(ada, conversation_id))
    again = events_of(send(ada, conversation_id))
    assert again == first
    assert again[0]["seq"] == 1
    assert "client_message_id" not in str(listed(ada, conversation_id))
    assert len(listed(ada, conversation_id)) == 2
    assert main_model.started_streams == 1


def test_after_an_edit_it_is_still_known_by_what_it_said(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    send(ada, conversation_id)
    question = listed(ada, conversation_id)[0]["message_id"]
    ada.post(f"/edit_message_from_conversation/{conversation_id}/{question}/1", json={"text": "How much light?"})
    assert send(ada, conversation_id).status_code == 200
    assert len(listed(ada, conversation_id)) == 2


@pytest.mark.parametrize("lasting", [True, False], ids=["kept", "stateless"])
def test_sent_from_many_connections_at_once_it_is_one_turn(
    lasting: bool, ada: Person, app: Flask, hold: Hold, main_model: ScriptedChatModel
) -> None:
    conversation_id = ada.new_conversation()
    if not lasting:
        ada.put(f"/make_conversation_stateless/{conversation_id}")
    answers: list[TestResponse] = []

    def try_it() -> None:
        client = app.test_client()
        client.set_cookie("anaphora_session", ada.client.get_cookie("anaphora_session").value)
        answers.append(send(Person(ada.email, client), conversation_id, "wait for it"))

    threads = [threading.Thread(target=try_it) for _ in range(6)]
    for thread in threads:
        thread.start()
    assert hold.wait_until_reached()
    hold.release()
    for thread in threads:
        thread.join()
    assert [answer.status_code for answer in answers] == [200] * 6
    told = [events_of(answer) for answer in answers]
    assert all(events == told[0] for events in told)
    assert main_model.started_streams == 1
    assert len(listed(ada, conversation_id)) == (2 if lasting else 0)


def test_what_is_not_kept_is_known_for_a_while_after_its_end(ada: Person, main_model: ScriptedChatModel) -> None:
    conversation_id = ada.new_conversation()
    ada.put(f"/make_conversation_stateless/{conversation_id}")
    first = events_of(send(ada, conversation_id))
    assert events_of(send(ada, conversation_id)) == first
    assert refused(send(ada, conversation_id, "Something else")) == (409, "conflict")
    assert main_model.started_streams == 1
    assert listed(ada, conversation_id) == []


def test_another_text_or_another_conversation_is_refused(ada: Person, main_model: ScriptedChatModel) -> None:
    one, other = ada.new_conversation(), ada.new_conversation()
    send(ada, one)
    assert refused(send(ada, one, "Something else")) == (409, "conflict")
    assert refused(send(ada, other)) == (409, "conflict")
    assert listed(ada, other) == []
    assert main_model.started_streams == 1


def test_while_it_runs_another_text_is_refused_and_the_same_is_followed(
    ada: Person, hold: Hold, main_model: ScriptedChatModel
) -> None:
    conversation_id = ada.new_conversation()
    running = ada.post(
        f"/send_message/{conversation_id}", json={"messageText": "wait", "client_message_id": ID}, buffered=False
    )
    assert hold.wait_until_reached()
    assert refused(send(ada, conversation_id, "Something else")) == (409, "conflict")
    hold.release()
    again = events_of(send(ada, conversation_id, "wait"))
    assert again[-1]["done"] is True
    assert main_model.started_streams == 1
    running.close()


def test_ids_are_a_persons_own(ada: Person, eve: Person, main_model: ScriptedChatModel) -> None:
    assert send(ada, ada.new_conversation()).status_code == 200
    assert send(eve, eve.new_conversation(), "Eve's").status_code == 200
    assert main_model.started_streams == 2


def test_a_copy_has_no_claim_to_the_id(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    send(ada, conversation_id)
    copy = ada.post(f"/clone_conversation/{conversation_id}").json["conversation_id"]
    assert refused(send(ada, copy)) == (409, "conflict")
    assert len(listed(ada, copy)) == 2
    assert events_of(send(ada, conversation_id))[-1]["done"] is True


def test_what_was_refused_can_be_sent_again_under_its_id(ada: Person, hold: Hold) -> None:
    conversation_id = ada.new_conversation()
    running = ada.post(f"/send_message/{conversation_id}", json={"messageText": "wait"}, buffered=False)
    assert hold.wait_until_reached()
    assert refused(send(ada, conversation_id)) == (409, "turn_in_progress")
    hold.release()
    running.get_data()
    assert send(ada, conversation_id).status_code == 200
    assert len(listed(ada, conversation_id)) == 4


def test_after_a_restart_it_is_known(
    ada: Person, app: Flask, settings: Settings, main_model: ScriptedChatModel
) -> None:
    conversation_id = ada.new_conversation()
    first = events_of(send(ada, conversation_id))
    app.extensions[EXTENSION].knowledge.close()
    close_store(settings.users_dir)
    app.extensions[EXTENSION] = build_state(settings, models=app.extensions[EXTENSION].models)
    assert events_of(send(ada, conversation_id)) == first
    assert main_model.started_streams == 1


def test_an_answer_made_again_under_one_id_is_one_attempt(ada: Person, main_model: ScriptedChatModel) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "How much water?")
    answer = listed(ada, conversation_id)[1]["message_id"]

    def regenerate(client_message_id: str) -> TestResponse:
        return ada.post(f"/regenerate/{conversation_id}/{answer}", json={"client_message_id": client_message_id})

    first = events_of(regenerate("one"))
    assert events_of(regenerate("one")) == first
    assert main_model.started_streams == 2
    events_of(regenerate("two"))
    assert refused(regenerate("one")) == (410, "stream_expired")
    assert [variant["number"] for variant in listed(ada, conversation_id)[1]["variants"]] == [1, 2, 3]
    assert main_model.started_streams == 3


def test_who_runs_as_many_turns_as_one_may_still_gets_what_was_sent_before(
    ada: Person, app: Flask, hold: Hold, main_model: ScriptedChatModel
) -> None:
    done, busy, answered = ada.new_conversation(), ada.new_conversation(), ada.new_conversation()
    first = events_of(send(ada, done))
    ada.say(answered, "How much light?")
    regenerate = f"/regenerate/{answered}/{listed(ada, answered)[1]['message_id']}"
    again = events_of(ada.post(regenerate, json={"client_message_id": "again"}))
    app.extensions[EXTENSION].turns._limits._most = 1
    running = ada.post(
        f"/send_message/{busy}", json={"messageText": "wait", "client_message_id": "busy"}, buffered=False
    )
    assert hold.wait_until_reached()

    assert events_of(send(ada, done)) == first
    assert events_of(ada.post(regenerate, json={"client_message_id": "again"})) == again
    assert refused(send(ada, done, "Something else")) == (409, "conflict")
    refusal = send(ada, done, client_message_id="new")
    assert refused(refusal) == (429, "too_many_turns")
    assert refusal.headers["Retry-After"] == "5"
    assert refusal.json["message"].startswith("1 of your messages is being answered")
    assert refusal.json["said"] == [{"code": "turns_at_once", "values": {"count": 1}}]
    assert refused(ada.post(regenerate, json={"client_message_id": "new"})) == (429, "too_many_turns")
    followed = ada.post(
        f"/send_message/{busy}", json={"messageText": "wait", "client_message_id": "busy"}, buffered=False
    )
    hold.release()
    assert followed.get_data() == running.get_data()
    assert main_model.started_streams == 4


@pytest.mark.parametrize("client_message_id", ["", "x" * 65, "line\nbreak", "nul\x00", 7])
def test_only_short_printable_ids_are_taken(client_message_id: object, ada: Person) -> None:
    conversation_id = ada.new_conversation()
    assert send(ada, conversation_id, client_message_id=client_message_id).status_code == 400
    assert listed(ada, conversation_id) == []


def test_without_an_id_the_same_text_is_two_messages(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "How much water?")
    ada.say(conversation_id, "How much water?")
    assert len(listed(ada, conversation_id)) == 4
