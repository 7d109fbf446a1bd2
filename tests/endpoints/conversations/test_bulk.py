"""Many things at once over HTTP, and a workspace brought back."""

from __future__ import annotations

from typing import Any

import pytest

from database.conversations.bulk import AT_ONCE
from endpoints.conversations import models as conversation_models
from endpoints.workspaces import models as workspace_models
from tests.endpoints.conftest import Person, refused, told

pytestmark = pytest.mark.contract


def change(person: Person, ids: list[str], what: str, **more: Any) -> list[tuple[str, str]]:
    answer = person.post("/conversations/bulk", json={"conversation_ids": ids, "change": what, **more})
    return [(each.conversation_id, each.status) for each in told(answer, conversation_models.BulkResults).results]


def listed(person: Person) -> dict[str, Any]:
    return {each["conversation_id"]: each for each in person.get("/list_conversation_by_user/assistant").json}


def test_many_are_changed_by_one_request(ada: Person) -> None:
    ids = [ada.new_conversation() for _ in range(AT_ONCE + 2)]
    garden = ada.post("/create_workspace/assistant/Garden", json={}).json["workspace_id"]
    done = [(each, "done") for each in ids]
    assert change(ada, ids, "move", value=garden) == done
    assert change(ada, ids, "flag", value="red") == done
    assert change(ada, ids, "pin") == done
    found = listed(ada)
    assert {(item["workspace_id"], item["flag"], item["pinned"]) for item in found.values()} == {(garden, "red", True)}
    assert change(ada, ids, "delete") == done
    assert listed(ada) == {}
    assert change(ada, ids, "restore") == done
    assert listed(ada) == found


def test_each_is_told_by_itself_and_foreign_ones_read_as_missing(ada: Person, eve: Person) -> None:
    own, foreign = eve.new_conversation(), ada.new_conversation()
    for what, more in (("archive", {}), ("unarchive", {}), ("flag", {"value": "red"}), ("delete", {}), ("restore", {})):
        fates = change(eve, [foreign, own, "nowhere"], what, **more)
        assert fates == [(foreign, "not_found"), (own, "done"), ("nowhere", "not_found")]
    item = ada.get(f"/get_conversation_details/{foreign}").json
    assert (item["flag"], item["archived"]) == ("none", False)


def test_a_foreign_workspace_takes_nothing(ada: Person, eve: Person) -> None:
    secret = ada.post("/create_workspace/assistant/Secret", json={}).json["workspace_id"]
    body = {"conversation_ids": [eve.new_conversation()], "change": "move"}
    foreign = eve.post("/conversations/bulk", json={**body, "value": secret})
    missing = eve.post("/conversations/bulk", json={**body, "value": "00000000-0000-4000-8000-000000000001"})
    assert refused(foreign) == refused(missing) == (404, "workspace_not_found")


def test_an_answer_that_is_written_ends_when_its_conversation_is_deleted(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    stream = ada.post(f"/send_message/{conversation_id}", json={"messageText": "What is it?"})
    assert change(ada, [conversation_id], "delete") == [(conversation_id, "done")]
    assert b'"done":true' in stream.get_data()
    assert refused(ada.get(f"/get_conversation_details/{conversation_id}")) == (404, "conversation_not_found")


@pytest.mark.parametrize(
    "wrong",
    [
        {"conversation_ids": [], "change": "pin"},
        {"conversation_ids": ["x"] * 1_001, "change": "pin"},
        {"conversation_ids": ["x\x00"], "change": "pin"},
        {"conversation_ids": ["x"], "change": "burn"},
        {"conversation_ids": ["x"], "change": "flag"},
        {"conversation_ids": ["x"], "change": "flag", "value": "pink"},
        {"conversation_ids": ["x"], "change": "delete", "value": "red"},
    ],
)
def test_what_makes_no_sense_is_refused(ada: Person, wrong: dict[str, Any]) -> None:
    assert refused(ada.post("/conversations/bulk", json=wrong)) == (400, "bad_request")


def test_a_deleted_workspace_is_brought_back_by_what_its_deletion_told(ada: Person, eve: Person) -> None:
    outer = ada.post("/create_workspace/assistant/Outer", json={"workspace_color": "danger"}).json["workspace_id"]
    inner = ada.post("/create_workspace/assistant/Inner", json={"parent_workspace_id": outer}).json["workspace_id"]
    talk = ada.post(f"/create_conversation/assistant/{outer}").json["conversation_id"]
    before = ada.get("/list_workspaces/assistant").json
    removed = told(ada.delete(f"/delete_workspace/assistant/{outer}"), workspace_models.WorkspaceRemoved).removed
    assert (removed["workspace_ids"], removed["conversation_ids"]) == ([inner], [talk])
    assert eve.post("/restore_workspace/assistant", json=removed).status_code == 200
    assert listed(ada)[talk]["workspace_name"] == "General"
    assert ada.post("/restore_workspace/assistant", json=removed).status_code == 200
    assert ada.get("/list_workspaces/assistant").json == before
    assert listed(ada)[talk]["workspace_id"] == outer
