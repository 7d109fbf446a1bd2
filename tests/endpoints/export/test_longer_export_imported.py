"""A longer export brings title, tags, flag and archive state up to date where they were not changed here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from language_models.testing import Reply, ScriptedChatModel
from tests.endpoints.conftest import Person
from tests.endpoints.export.test_archive_imported import imported, taken_back

pytestmark = pytest.mark.contract


@pytest.fixture
def talk(ada: Person) -> str:
    """A conversation of Ada's with a title and a tag."""
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "How much water?")
    change(ada, conversation_id, title="Water", tags=["plants"])
    return conversation_id


def change(person: Person, conversation_id: str, **values: Any) -> None:
    """Change title, tags, flag and whether it is archived."""
    for name, value in values.items():
        if name == "flag":
            answer = person.post(f"/set_flag/{conversation_id}/{value}")
        elif name == "archived":
            answer = person.post(f"/archive_conversation/{conversation_id}", json={"archived": value})
        else:
            answer = person.put(f"/conversations/{conversation_id}/{name}", json={name: value})
        assert answer.status_code == 200, answer.get_data(as_text=True)


def head(person: Person) -> dict[str, Any]:
    """What the only conversation of a person is like, messages apart."""
    (listed,) = person.get("/list_conversation_by_user/assistant?include_archived=true").json
    names = ("conversation_id", "title", "tags", "flag", "archived")
    return {name: listed[name] for name in names}


def told(person: Person) -> dict[str, Any]:
    return {name: value for name, value in head(person).items() if name != "conversation_id"}


def brought(app: Flask, ada: Person, eve: Person, talk: str, file: Path) -> dict[str, Any]:
    """Import the conversation as it is now into Eve's account; what came of it."""
    file.write_bytes(ada.get(f"/api/export?room={talk}&format=json").get_data())
    came = imported(app, eve, file)
    assert came["failures"] == []
    return came


BEFORE = {"title": "Water", "tags": ["plants"], "flag": "none", "archived": False}
AFTER = {"title": "Watering", "tags": ["plants", "summer"], "flag": "red", "archived": True}


def test_what_nobody_changed_here_becomes_what_it_is_there(
    app: Flask, ada: Person, eve: Person, talk: str, tmp_path: Path
) -> None:
    brought(app, ada, eve, talk, tmp_path / "talk.json")
    assert told(eve) == BEFORE
    change(ada, talk, **AFTER)
    ada.say(talk, "And now?")
    came = brought(app, ada, eve, talk, tmp_path / "longer.json")
    assert (came["imported"], came["updated"], told(eve)) == (0, 1, AFTER)
    change(ada, talk, title="Water again", tags=["garden"], archived=False)
    assert brought(app, ada, eve, talk, tmp_path / "titled.json")["updated"] == 1  # nothing more was said
    tags = ["garden", "plants", "summer"]
    assert told(eve) == {**AFTER, "title": "Water again", "tags": tags, "archived": False}
    assert brought(app, ada, eve, talk, tmp_path / "again.json")["skipped"] == 1


def test_what_the_person_changed_here_stays(app: Flask, ada: Person, eve: Person, talk: str, tmp_path: Path) -> None:
    brought(app, ada, eve, talk, tmp_path / "talk.json")
    mine = {"title": "Mine", "tags": [], "flag": "green", "archived": True}
    change(eve, head(eve)["conversation_id"], **mine)
    for number in range(2):
        change(ada, talk, title=f"Watering {number}", tags=["plants", f"summer {number}"], flag="red")
        ada.say(talk, "And now?")
        assert brought(app, ada, eve, talk, tmp_path / f"{number}.json")["updated"] == 1
        assert told(eve) == mine


def test_an_earlier_export_takes_nothing_back(app: Flask, ada: Person, eve: Person, talk: str, tmp_path: Path) -> None:
    first = tmp_path / "first.json"
    first.write_bytes(ada.get(f"/api/export?room={talk}&format=json").get_data())
    ada.say(talk, "And now?")
    change(ada, talk, **AFTER)
    brought(app, ada, eve, talk, tmp_path / "longer.json")
    assert imported(app, eve, first)["skipped"] == 1
    assert told(eve) == AFTER


def test_taking_the_longer_export_back_takes_that_back_too_and_it_can_come_again(
    app: Flask, ada: Person, eve: Person, talk: str, tmp_path: Path
) -> None:
    brought(app, ada, eve, talk, tmp_path / "talk.json")
    before = head(eve)
    change(ada, talk, **AFTER)
    ada.say(talk, "And now?")
    longer = tmp_path / "longer.json"
    brought(app, ada, eve, talk, longer)
    assert taken_back(app, eve, longer) == []
    assert head(eve) == before
    assert len(eve.get(f"/list_messages_by_conversation/{before['conversation_id']}").json) == 2
    assert imported(app, eve, longer)["updated"] == 1
    assert told(eve) == AFTER
    change(eve, before["conversation_id"], title="Mine", tags=["plants", "own", "summer"])
    assert [each["item"] for each in taken_back(app, eve, longer)] == ["Mine"]
    assert told(eve) == {**BEFORE, "title": "Mine", "tags": ["own", "plants"]}


def test_citations_that_a_message_got_since_come_along_and_are_taken_back(
    app: Flask, ada: Person, eve: Person, main_model: ScriptedChatModel, talk: str, tmp_path: Path
) -> None:
    other = ada.new_conversation()
    ada.say(other, "Elsewhere")
    brought(app, ada, eve, talk, tmp_path / "talk.json")
    own = head(eve)["conversation_id"]

    def cited() -> dict[str, dict[str, Any]]:
        listed = eve.get(f"/list_messages_by_conversation/{own}").json
        return {each["ref"]: each["target"] for each in listed[1]["references"]}

    before = cited()
    question, answer = ada.get(f"/list_messages_by_conversation/{talk}").json
    elsewhere = ada.get(f"/list_messages_by_conversation/{other}").json[0]
    refs = [f"#{each['message_id'].replace('-', '')}" for each in (question, elsewhere)]
    main_model._replies = lambda _: Reply(f"As asked ({refs[0]}, {refs[1]}).")
    assert b'"done":true' in ada.post(f"/regenerate/{talk}/{answer['message_id']}", json={}).get_data()
    longer = tmp_path / "longer.json"
    assert brought(app, ada, eve, talk, longer)["updated"] == 1
    here = eve.get(f"/list_messages_by_conversation/{own}").json
    assert here[1]["text"] == f"As asked ({refs[0]}, {refs[1]})."
    assert cited()[refs[0]]["message_id"] == here[0]["message_id"]
    assert cited()[refs[1]] == {}
    assert here[0]["backlink_count"] == 1
    assert imported(app, eve, longer)["skipped"] == 1
    # What the other one cites comes later.
    brought(app, ada, eve, other, tmp_path / "other.json")
    (came,) = [each for each in eve.get("/list_conversation_by_user/assistant").json if each["title"] != "Water"]
    assert cited()[refs[1]]["conversation_id"] == came["conversation_id"]
    assert taken_back(app, eve, longer) == []
    assert taken_back(app, eve, longer, nth=2) == []
    assert cited() == before
