"""Workspaces over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.endpoints.conftest import Person

pytestmark = pytest.mark.contract


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
