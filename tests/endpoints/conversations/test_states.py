"""Flags, pins, archive, bin and temporary conversations over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from database.conversations.deletion import BinnedConversation
from endpoints.conversations import models as conversation_models
from tests.endpoints.conftest import Person, told

pytestmark = pytest.mark.contract


def details(person: Person, conversation_id: str) -> dict[str, Any]:
    found: dict[str, Any] = person.get(f"/get_conversation_details/{conversation_id}").json
    return found


def listed(person: Person, query: str = "") -> list[str]:
    return [each["conversation_id"] for each in person.get(f"/list_conversation_by_user/assistant{query}").json]


def test_a_flag_is_set_and_taken_away(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    for flag in ("red", "none"):
        assert ada.post(f"/set_flag/{conversation_id}/{flag}").status_code == 200
        assert details(ada, conversation_id)["flag"] == flag


@pytest.mark.parametrize("flag", ["pink", "RED", "%3Cscript%3E"])
def test_there_are_no_other_flags(ada: Person, flag: str) -> None:
    answer = ada.post(f"/set_flag/{ada.new_conversation()}/{flag}")
    assert (answer.status_code, answer.json["code"]) == (400, "bad_request")


def test_an_archived_conversation_is_listed_only_where_it_is_asked_for(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    assert ada.post(f"/archive_conversation/{conversation_id}").status_code == 200
    assert listed(ada) == []
    assert listed(ada, "?archived_only=true&limit=5") == [conversation_id]
    assert details(ada, conversation_id)["archived"] is True
    assert ada.post(f"/archive_conversation/{conversation_id}", json={"archived": False}).status_code == 200
    assert listed(ada) == [conversation_id]
    assert listed(ada, "?archived_only=true") == []


def test_a_pin_is_told_in_the_list(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    for method, pinned in (("PUT", True), ("DELETE", False)):
        assert ada.request(method, f"/conversations/{conversation_id}/pin").status_code == 200
        (item,) = ada.get("/list_conversation_by_user/assistant").json
        assert item["pinned"] is pinned


def test_a_temporary_conversation_answers_and_is_never_listed(ada: Person) -> None:
    created = ada.post("/create_temporary_conversation/assistant")
    assert created.status_code == 201
    assert conversation_models.ConversationItem.model_validate(created.json, strict=True).temporary
    conversation_id = created.json["conversation_id"]
    assert ada.say(conversation_id, "What is the answer?")[-1]["done"]
    assert details(ada, conversation_id)["message_count"] == 2
    assert listed(ada, "?include_archived=true") == []
    assert ada.delete(f"/delete_conversation/{conversation_id}").status_code == 200
    assert ada.get("/bin/assistant").json == []
    assert ada.post(f"/restore_conversation/{conversation_id}").status_code == 404


def test_what_is_deleted_lies_in_the_bin_until_it_is_restored_or_erased(ada: Person) -> None:
    back, gone = ada.new_conversation(), ada.new_conversation()
    for conversation_id in (back, gone):
        ada.delete(f"/delete_conversation/{conversation_id}")
    found = told(ada.get("/bin/assistant"), list[BinnedConversation])
    assert [(item.conversation_id, item.days_left) for item in found] == [(gone, 30), (back, 30)]
    assert ada.post(f"/restore_conversation/{back}").status_code == 200
    assert ada.delete(f"/bin/{back}").status_code == 404
    assert ada.delete(f"/bin/{gone}").status_code == 200
    assert ada.post(f"/restore_conversation/{gone}").status_code == 404
    assert listed(ada) == [back]


def test_the_bin_is_emptied_for_its_owner_alone(ada: Person, eve: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.delete(f"/delete_conversation/{conversation_id}")
    assert eve.get("/bin/assistant").json == []
    assert eve.post("/empty_bin/assistant").json == {"status": "ok", "erased": 0}
    emptied = conversation_models.Emptied.model_validate(ada.post("/empty_bin/assistant").json, strict=True)
    assert emptied.erased == 1
    assert ada.get("/bin/assistant").json == []
