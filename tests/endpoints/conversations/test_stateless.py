"""Conversations in which nothing is kept, over HTTP."""

from __future__ import annotations

import pytest

from tests.endpoints.conftest import Person

pytestmark = pytest.mark.contract


def test_from_now_on_nothing_is_kept_and_then_it_is_again(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "How much water?")
    before = ada.get("/list_conversation_by_user/assistant").json
    made = ada.put(f"/make_conversation_stateless/{conversation_id}")
    assert (made.status_code, made.json["stateless"], made.json["conversation_id"]) == (200, True, conversation_id)

    events = ada.say(conversation_id, "Between us?")
    told = [event["message_ids"] for event in events if "message_ids" in event]
    assert [ids["kept"] for ids in told] == [False, False]
    (item,) = ada.get("/list_conversation_by_user/assistant").json
    assert item == before[0] | {"stateless": True}
    assert len(ada.get(f"/list_messages_by_conversation/{conversation_id}").json) == 2
    gone = told[-1]["response_message_id"]
    assert ada.put(f"/messages/{gone}/pin").json["code"] == "message_not_found"

    made = ada.put(f"/make_conversation_stateful/{conversation_id}")
    assert made.json["stateless"] is False
    assert ada.get(f"/get_conversation_details/{conversation_id}").json["stateless"] is False
    ada.say(conversation_id, "For the record?")
    assert len(ada.get(f"/list_messages_by_conversation/{conversation_id}").json) == 4
