"""Conversations over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from endpoints.conversations import models as conversation_models
from tests.database.conftest import statements
from tests.endpoints.conftest import Person

pytestmark = pytest.mark.contract

__all__ = ["statements"]


def test_a_new_conversation_is_listed_and_has_a_friendly_id_after_its_first_turn(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    assert ada.get("/list_conversation_by_user/assistant").json[0]["conversation_friendly_id"] == ""
    ada.say(conversation_id, "What is the answer?")
    (listed,) = ada.get("/list_conversation_by_user/assistant").json
    details = ada.get(f"/get_conversation_details/{conversation_id}").json
    assert details == listed | {"agent_id": None}
    assert (listed["title"], listed["message_count"]) == ("Deep Thought Answers", 2)
    assert listed["conversation_friendly_id"].startswith("deep_thought_")


def test_a_brief_list_says_the_same_of_what_a_tree_shows_and_leaves_out_usual_values(ada: Person) -> None:
    plain, marked = ada.new_conversation(), ada.new_conversation()
    ada.say(marked, "What is the answer?")
    for method, path, body in (
        ("POST", f"/set_flag/{marked}/red", None),
        ("POST", f"/archive_conversation/{marked}", None),
        ("PUT", f"/conversations/{marked}/pin", None),
        ("PUT", f"/conversations/{marked}/tags", {"tags": ["towels"]}),
        ("PUT", f"/make_conversation_stateless/{marked}", None),
    ):
        assert ada.request(method, path, json=body).status_code == 200
    whole, brief = (
        {item["conversation_id"]: item for item in ada.get(f"/list_conversation_by_user/assistant?{query}").json}
        for query in ("include_archived=true", "include_archived=true&brief=true")
    )
    usual = {"flag", "archived", "stateless", "pinned", "tags"}
    always = set(conversation_models.BriefItem.model_fields) - usual - {"running_answers"}
    assert (set(brief[plain]), set(brief[marked])) == (always, always | usual)
    for conversation_id in (plain, marked):
        described = conversation_models.BriefItem.model_validate(brief[conversation_id], strict=True).model_dump()
        assert described.pop("running_answers") == []
        assert described == {name: whole[conversation_id][name] for name in described}


def test_the_list_comes_in_pages_that_a_link_leads_through(ada: Person) -> None:
    made = [ada.new_conversation() for _ in range(5)]
    seen, address = [], "/list_conversation_by_user/assistant?limit=2"
    while address:
        answer = ada.get(address)
        seen += [item["conversation_id"] for item in answer.json]
        link = answer.headers.get("Link", "")
        assert not link or link.endswith('; rel="next"')
        address = link[1 : link.index(">")] if link else ""
    assert seen == made[::-1]


def test_the_list_asks_the_store_a_constant_number_of_times(
    ada: Person, statements: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    for _ in range(20):
        ada.new_conversation()
    with statements() as seen:
        assert len(ada.get("/list_conversation_by_user/assistant").json) == 20
    listing = [statement for statement in seen if "FROM sessions" not in statement]
    assert len(listing) <= 4, seen


def test_a_title_given_by_hand_stays(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    assert ada.put(f"/conversations/{conversation_id}/title", json={"title": " My own "}).status_code == 200
    ada.say(conversation_id, "What is the answer?")
    assert ada.get(f"/get_conversation_details/{conversation_id}").json["title"] == "My own"


def test_settings_are_kept_as_they_are_put(ada: Person) -> None:
    address = f"/get_conversation_settings/{ada.new_conversation()}"
    assert ada.get(address).json == {}
    assert ada.put(address, json={"model": "x", "nested": {"a": [1, None]}}).status_code == 200
    assert ada.get(address).json == {"model": "x", "nested": {"a": [1, None]}}
    assert ada.put(address, json={"big": "x" * 20_000}).status_code == 400


def test_a_clone_has_a_friendly_id_of_its_own(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "What is the answer?")
    clone = ada.post(f"/clone_conversation/{conversation_id}")
    assert clone.status_code == 201
    original = ada.get(f"/get_conversation_details/{conversation_id}").json
    assert clone.json["conversation_friendly_id"] not in ("", original["conversation_friendly_id"])
    texts = [item["text"] for item in ada.get(f"/list_messages_by_conversation/{clone.json['conversation_id']}").json]
    assert texts == ["What is the answer?", "It is forty-two."]


def test_a_deleted_conversation_comes_back_from_the_bin(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    assert ada.delete(f"/delete_conversation/{conversation_id}").status_code == 200
    assert ada.get(f"/get_conversation_details/{conversation_id}").status_code == 404
    assert ada.get("/list_conversation_by_user/assistant").json == []
    assert ada.post(f"/restore_conversation/{conversation_id}").status_code == 200
    assert ada.get(f"/get_conversation_details/{conversation_id}").status_code == 200


@pytest.mark.parametrize("body", [{}, {"title": " "}, {"title": "x" * 501}, {"title": "a", "more": 1}])
def test_a_title_that_is_none_is_refused(body: dict[str, object], ada: Person) -> None:
    answer = ada.put(f"/conversations/{ada.new_conversation()}/title", json=body)
    assert answer.status_code == 400
    assert answer.json["details"]
