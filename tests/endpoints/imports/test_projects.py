"""Projects of Claude: they become workspaces, their documents documents, and what the person changes of both stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from tests.endpoints.conftest import Person
from tests.endpoints.export.test_archive_imported import imported, runner_of, taken_back
from tests.portability.importers.exports import claude_conversation, claude_message, write_zip

pytestmark = pytest.mark.contract
RIG = "/api/vault/document?path=Boat/rig.md"


@pytest.fixture
def export(tmp_path: Path) -> Any:
    """An export of Claude with two projects, whose conversations say to which they belong, or, as in most, don't."""

    def make(*talks: str, project: str | None = None) -> Path:
        projects = [
            {"uuid": "p1", "name": "Boat", "docs": [{"uuid": "d1", "filename": "rig.md", "content": "# Rig"}]},
            {"uuid": "p2", "name": "House", "docs": []},
            {"uuid": "p3", "name": "", "docs": []},
        ]
        told = {} if project is None else {"project": {"uuid": project}}
        conversations = [
            claude_conversation(claude_message("m1", "human", "Hello"), conversation_id=talk, name=talk, **told)
            for talk in talks
        ]
        return write_zip(tmp_path / "claude.zip", {"conversations.json": conversations, "projects.json": projects})

    return make


def workspaces(person: Person) -> dict[str, str]:
    """The person's workspaces but for the default one, by their names."""
    listed = person.get("/list_workspaces/assistant").json
    return {
        each["workspace_name"]: each["workspace_id"]
        for each in listed
        if not each["workspace_id"].startswith("default")
    }


def places(person: Person) -> dict[str, str]:
    """The names of the workspaces of conversations, by their titles."""
    names = {workspace_id: name for name, workspace_id in workspaces(person).items()}
    listed = person.get("/list_conversation_by_user/assistant").json
    return {each["title"]: names.get(each["workspace_id"], "") for each in listed}


def test_projects_become_workspaces_also_those_without_conversations(app: Flask, ada: Person, export: Any) -> None:
    came = imported(app, ada, export("Sails"))
    assert (came["imported"], came["failures"]) == (4, [])
    assert sorted(workspaces(ada)) == ["Boat", "House"]
    assert ada.get(RIG).json["text"] == "# Rig"
    assert imported(app, ada, export("Sails"))["imported"] == 0
    assert sorted(workspaces(ada)) == ["Boat", "House"]


def test_a_file_says_how_many_conversations_it_has_and_not_what_stands_beside_them(
    app: Flask, ada: Person, export: Any
) -> None:
    file = export("Sails", "Ropes")
    sent = ada.post("/import?name=claude.zip", data=file.read_bytes(), content_type="application/octet-stream").json
    runner = runner_of(app, file)
    runner.run_until_idle()
    path = f"/imports/{sent['import_id']}"
    ready = ada.get(path).json
    assert (ready["state"], ready["conversations"], ready["messages"]) == ("ready", 2, 2)
    assert [each["title"] for each in ready["titles"]] == ["Sails", "Ropes"]

    assert ada.post(f"{path}/start", json={"conversations": ["Ropes"]}).status_code == 200
    runner.run_until_idle()
    runner.close()
    done = ada.get(path).json
    assert (done["state"], done["done"], list(places(ada))) == ("done", 2, ["Ropes"])


def test_a_workspace_and_a_document_that_the_person_changed_stay_and_do_not_come_again(
    app: Flask, ada: Person, export: Any
) -> None:
    imported(app, ada, export("Sails", project="p1"))
    boat, house = (workspaces(ada)[name] for name in ("Boat", "House"))
    assert ada.put(f"/update_workspace/{boat}", json={"workspace_name": "Yacht"}).status_code == 200
    assert ada.delete(f"/delete_workspace/assistant/{house}").status_code == 200
    rig = ada.get(RIG).json
    written = ada.put(RIG, json={"text": "# Rig of mine"}, headers={"If-Match": f'"{rig["version"]}"'})
    assert written.status_code == 200

    came = imported(app, ada, export("Sails", "Ropes", project="p1"))
    assert (came["imported"], came["failures"]) == (1, [])
    assert places(ada) == {"Sails": "Yacht", "Ropes": "Yacht"}
    assert list(workspaces(ada)) == ["Yacht"]
    assert [each["path"] for each in ada.get("/api/vault/documents").json["documents"]] == ["Boat/rig.md"]
    assert ada.get(RIG).json["text"] == "# Rig of mine"


def test_workspaces_of_projects_are_taken_back_unless_something_else_is_in_them(
    app: Flask, ada: Person, export: Any
) -> None:
    file = export("Sails", project="p1")
    imported(app, ada, file)
    assert places(ada) == {"Sails": "Boat"}
    assert taken_back(app, ada, file) == []
    assert (workspaces(ada), places(ada)) == ({}, {})
    imported(app, ada, file)
    assert (sorted(workspaces(ada)), places(ada)) == (["Boat", "House"], {"Sails": "Boat"})
