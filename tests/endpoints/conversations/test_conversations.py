"""Conversations and workspaces over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from urllib.parse import quote

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
    assert len(listing) <= 3, seen


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


def test_workspaces_nest_and_take_conversations(ada: Person) -> None:
    outer = ada.post(f"/create_workspace/assistant/{quote('Papers / 2026', safe='')}", json={}).json
    inner = ada.post("/create_workspace/assistant/Inner", json={"parent_workspace_id": outer["workspace_id"]}).json
    assert (outer["workspace_name"], outer["workspace_color"]) == ("Papers / 2026", "primary")
    conversation = ada.post(f"/create_conversation/assistant/{inner['workspace_id']}").json
    assert conversation["workspace_name"] == "Inner"
    path = ada.get(f"/get_workspace_path/{inner['workspace_id']}").json
    assert [step["workspace_name"] for step in path] == ["Papers / 2026", "Inner"]
    cycle = ada.put(f"/move_workspace/{outer['workspace_id']}", json={"parent_workspace_id": inner["workspace_id"]})
    assert (cycle.status_code, cycle.json["code"]) == (400, "bad_request")
    assert ada.delete(f"/delete_workspace/assistant/{inner['workspace_id']}").status_code == 200
    details = ada.get(f"/get_conversation_details/{conversation['conversation_id']}").json
    assert details["workspace_id"] == outer["workspace_id"]


def test_a_workspace_changes_its_looks_and_closes(ada: Person) -> None:
    workspace_id = ada.post("/create_workspace/assistant/Old", json={}).json["workspace_id"]
    change = {"workspace_name": "New", "workspace_color": "danger", "expanded": True}
    assert ada.put(f"/update_workspace/{workspace_id}", json=change).status_code == 200
    assert ada.post("/collapse_workspaces", json={"workspace_ids": [workspace_id]}).status_code == 200
    listed = {item["workspace_id"]: item for item in ada.get("/list_workspaces/assistant").json}[workspace_id]
    assert (listed["workspace_name"], listed["workspace_color"], listed["expanded"]) == ("New", "danger", False)


def test_a_conversation_moves_between_workspaces(ada: Person) -> None:
    workspace_id = ada.post("/create_workspace/assistant/Other", json={}).json["workspace_id"]
    conversation_id = ada.new_conversation()
    moved = ada.put(f"/move_conversation_to_workspace/{conversation_id}", json={"workspace_id": workspace_id})
    assert moved.status_code == 200
    counts = {item["workspace_id"]: item["conversation_count"] for item in ada.get("/list_workspaces/assistant").json}
    assert counts[workspace_id] == 1


@pytest.mark.parametrize("body", [{}, {"title": " "}, {"title": "x" * 501}, {"title": "a", "more": 1}])
def test_a_title_that_is_none_is_refused(body: dict[str, object], ada: Person) -> None:
    answer = ada.put(f"/conversations/{ada.new_conversation()}/title", json=body)
    assert answer.status_code == 400
    assert answer.json["details"]
