"""Choosing what comes of an export of ours, and where to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flask import Flask

from tests.endpoints.conftest import Person
from tests.endpoints.export.test_archive_imported import archive_of, imported, runner_of


def talk(person: Person, title: str) -> str:
    """A conversation of this title; its id."""
    conversation_id = person.new_conversation()
    person.say(conversation_id, f"What of {title}?")
    assert person.put(f"/conversations/{conversation_id}/title", json={"title": title}).status_code == 200
    return conversation_id


def chosen(app: Flask, person: Person, file: Path, **choice: Any) -> dict[str, Any]:
    """Upload a file and start it with a choice; `conversations` are titles here. The import as it has ended."""
    body = file.read_bytes()
    sent = person.post(f"/import?name={file.name}", data=body, content_type="application/octet-stream").json
    path, runner = f"/imports/{sent['import_id']}", runner_of(app, file)
    runner.run_until_idle()
    ready = person.get(path).json
    assert ready["state"] == "ready"
    ids = {each["title"]: each["id"] for each in ready["titles"]}
    assert len(ids) == ready["conversations"]
    if "conversations" in choice:
        choice["conversations"] = [ids[title] for title in choice["conversations"]]
    assert person.post(f"{path}/start", json=choice).status_code == 200
    runner.run_until_idle()
    runner.close()
    done: dict[str, Any] = person.get(path).json
    return done


def listed(person: Person) -> dict[str, str]:
    """The ids of the workspaces of conversations, by their titles."""
    found = person.get("/list_conversation_by_user/assistant").json
    return {each["title"]: each["workspace_id"] for each in found}


def test_conversations_of_an_archive_are_chosen_and_go_into_the_chosen_workspace(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    talk(ada, "Über “Sails” \\ and ropes")
    talk(ada, "Tides")
    boat = ada.post("/create_workspace/assistant/Boat", json={}).json["workspace_id"]
    moved = talk(ada, "Rudder")
    assert ada.put(f"/move_conversation_to_workspace/{moved}", json={"workspace_id": boat}).status_code == 200
    file = archive_of(app, ada, tmp_path / "everything.zip")
    old = eve.post("/create_workspace/assistant/Old", json={}).json["workspace_id"]

    titles = ["Über “Sails” \\ and ropes", "Rudder"]
    done = chosen(app, eve, file, conversations=titles, workspace_id=old)
    assert (done["state"], done["conversations"], done["messages"], done["done"]) == ("done", 3, 6, 6)
    names = {each["workspace_id"]: each["workspace_name"] for each in eve.get("/list_workspaces/assistant").json}
    assert {title: names[place] for title, place in listed(eve).items()} == {titles[0]: "Old", titles[1]: "Boat"}
    assert imported(app, eve, file)["imported"] == 1
    assert len(listed(eve)) == 3


def test_the_export_of_a_conversation_goes_into_the_chosen_workspace_while_it_is_there(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    first, second = talk(ada, "Tides"), talk(ada, "Moon")
    file = tmp_path / "talk.json"
    old = eve.post("/create_workspace/assistant/Old", json={}).json["workspace_id"]
    for conversation_id, place in ((first, old), (second, "")):
        file.write_bytes(ada.get(f"/export_conversation/{conversation_id}?format=json").get_data())
        assert chosen(app, eve, file, **({"workspace_id": place} if place else {}))["imported"] == 1
    assert listed(eve)["Tides"] == old != listed(eve)["Moon"]
