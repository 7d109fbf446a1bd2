"""Single settings of a conversation, the options of a turn, and how both reach the model."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from flask import Flask

from database.conversations.repository import change_settings
from endpoints.http.scope import EXTENSION
from language_models.testing import Call, ScriptedChatModel
from tests.endpoints.conftest import Person, events_of, refused

pytestmark = pytest.mark.contract

PIRATE, POET = "Talk like a pirate.", "Answer in verse."


def patch(person: Person, conversation_id: str, **settings: Any) -> Any:
    answer = person.request("PATCH", f"/conversations/{conversation_id}/settings", json=settings)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return answer.json


def asked_with(call: Call) -> tuple[str, float | None, int | None]:
    """The first line of the system prompt, the temperature and the longest answer of a request to the model."""
    return call.prompt[0]["content"].partition("\n")[0], call.temperature, call.max_tokens


def test_single_settings_change_and_the_others_stay(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    address = f"/get_conversation_settings/{conversation_id}"
    ada.put(address, json={"tone": "dry", "temperature": 1})
    assert patch(ada, conversation_id, system_prompt=PIRATE) == {
        "tone": "dry",
        "temperature": 1,
        "system_prompt": PIRATE,
    }
    assert patch(ada, conversation_id, temperature=None, answer_tokens=500) == {
        "tone": "dry",
        "system_prompt": PIRATE,
        "answer_tokens": 500,
    }
    assert patch(ada, conversation_id, model_overrides={"main": "cheap"}) == ada.get(address).json
    assert ada.get(address).json["model_overrides"] == {"main": "cheap"}


def test_a_mistyped_tool_is_refused_with_what_was_meant_and_one_that_is_gone_may_stay(app: Flask, ada: Person) -> None:
    conversation_id = ada.new_conversation()
    put, path = f"/get_conversation_settings/{conversation_id}", f"/conversations/{conversation_id}/settings"

    def refusals(tools: dict[str, bool]) -> list[str]:
        answers = ada.put(put, json={"tools": tools}), ada.request("PATCH", path, json={"tools": tools})
        assert [refused(answer) for answer in answers] == [(400, "bad_request")] * 2
        return [answer.json["message"] for answer in answers]

    meant = "tools: There is no tool “write_documents”. Did you mean “write_document”"
    assert all(message.startswith(meant) for message in refusals({"read_file": True, "write_documents": True}))
    assert refusals({"zzzzzzzz": False}) == ["tools: There is no tool “zzzzzzzz”."] * 2
    assert ada.get(put).json == {}

    scope: dict[str, Any] = {
        "database": app.extensions[EXTENSION].database,
        "user_email": ada.email,
        "conversation_id": conversation_id,
    }
    change_settings(**scope, changes={"tools": {"of_a_package": True}})
    assert patch(ada, conversation_id, tools={"of_a_package": False, "read_file": True})["tools"]["read_file"]
    assert ada.put(put, json={"tools": {"of_a_package": True}, "tone": "dry"}).status_code == 200
    assert refusals({"of_a_packagf": True})[0] == "tools: There is no tool “of_a_packagf”."
    assert ada.put(put, json={"tone": "dry"}).status_code == 200
    assert len(refusals({"of_a_package": True})) == 2
    assert patch(ada, conversation_id, tools={"read_page": True})["tools"] == {"read_document": True}


@pytest.mark.parametrize("stored", [5, True, "read_file", ["x", {}], [["x"]]])
def test_stored_tools_that_are_no_object_can_be_changed(app: Flask, ada: Person, stored: Any) -> None:
    conversation_id = ada.new_conversation()
    database = app.extensions[EXTENSION].database
    scope: dict[str, Any] = {"user_email": ada.email, "conversation_id": conversation_id}
    change_settings(database=database, **scope, changes={"tools": stored})
    put = ada.put(f"/get_conversation_settings/{conversation_id}", json={"tools": {"read_file": False}})
    assert put.status_code == 200
    change_settings(database=database, **scope, changes={"tools": stored})
    assert patch(ada, conversation_id, tools={"read_file": True})["tools"] == {"read_file": True}


def test_another_tab_is_told_the_settings_once(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    for _ in range(2):
        patch(ada, conversation_id, temperature=0.5)
    patch(ada, conversation_id, answer_tokens=7)
    events = ada.get("/events?after=1").iter_encoded()
    told = [orjson.loads(line) for line in next(events).splitlines()]
    assert [each["fields"] for each in told] == [
        {"conversation_settings": {"temperature": 0.5}},
        {"conversation_settings": {"temperature": 0.5, "answer_tokens": 7}},
    ]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"temperature": 2.1}, "temperature"),
        ({"temperature": "hot"}, "temperature"),
        ({"answer_tokens": 0}, "answer_tokens"),
        ({"answer_tokens": 1.5}, "answer_tokens"),
        ({"system_prompt": "x" * 12_001}, "system_prompt"),
        ({"system_prompt": 3}, "system_prompt"),
    ],
)
def test_wrong_options_are_refused_with_the_field_and_nothing_is_stored(
    wrong: dict[str, Any], field: str, ada: Person
) -> None:
    conversation_id = ada.new_conversation()
    for answer in (
        ada.request("PATCH", f"/conversations/{conversation_id}/settings", json=wrong),
        ada.post(f"/send_message/{conversation_id}", json={"messageText": "Hello", "options": wrong}),
    ):
        assert refused(answer) == (400, "bad_request")
        assert [each["loc"][-1] for each in answer.json["details"]] == [field]
    assert ada.get(f"/get_conversation_settings/{conversation_id}").json == {}
    assert ada.get(f"/list_messages_by_conversation/{conversation_id}").json == []


def test_settings_that_make_no_sense_are_refused(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    address = f"/conversations/{conversation_id}/settings"
    for wrong in (
        {"tone": "dry"},
        {"suggestions": ["more"]},
        {"model_overrides": {}},
        {"model_overrides": {"main": 3}},
    ):
        assert refused(ada.request("PATCH", address, json=wrong)) == (400, "bad_request")
    assert refused(ada.request("PATCH", address, json={"model_overrides": {"main": "no such"}})) == (400, "bad_request")
    assert refused(ada.request("PATCH", address, json={"model_overrides": {"main": "openai:o1-pro"}})) == (
        403,
        "model_not_allowed",
    )
    for wrong in ({"temperature": "hot"}, {"tools": ["read"]}, {"model_overrides": {"main": 3}}):
        assert refused(ada.put(f"/get_conversation_settings/{conversation_id}", json=wrong)) == (400, "bad_request")
    ada.put(f"/get_conversation_settings/{conversation_id}", json={"notes": "x" * 16_000})
    assert refused(ada.request("PATCH", address, json={"system_prompt": "y" * 400})) == (400, "bad_request")
    assert "system_prompt" not in ada.get(f"/get_conversation_settings/{conversation_id}").json


def test_what_a_turn_is_sent_with_overrides_the_settings_also_where_it_is_answered_again(
    ada: Person, main_model: ScriptedChatModel
) -> None:
    conversation_id = ada.new_conversation()
    patch(ada, conversation_id, system_prompt=PIRATE, temperature=0.2, answer_tokens=500)
    ada.say(conversation_id, "One")
    ada.say(conversation_id, "Two", options={"system_prompt": POET, "temperature": None})
    question, answer = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[-2:]
    assert question["config"]["options"] == {"system_prompt": POET, "temperature": None}
    events_of(ada.post(f"/regenerate/{conversation_id}/{answer['message_id']}"))
    events_of(ada.post(f"/branch/{conversation_id}/{question['message_id']}", json={"text": "Three"}))
    ada.say(conversation_id, "Four")
    own, overridden = (PIRATE, 0.2, 500), (POET, None, 500)
    assert [asked_with(call) for call in main_model.calls] == [own, overridden, overridden, overridden, own]
