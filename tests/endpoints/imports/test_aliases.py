"""Names that conversations had elsewhere go along with exports: copied references live on after a second move."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from flask import Flask

from database.conversations.repository import set_friendly_id
from endpoints.http.scope import EXTENSION
from tests.endpoints.conftest import Person
from tests.endpoints.export.test_archive_imported import archive_of, imported

pytestmark = pytest.mark.contract


def resolved(person: Person, friendly_id: str) -> str:
    """The text of the first message to which a reference by this name leads; its status where it leads nowhere."""
    name = f"@conversation_{friendly_id}_message_1"
    entry = person.get("/references/resolve", query_string={"ref": name}).json
    return str(entry["preview"]) if entry["status"] == "resolved" else str(entry["status"])


@pytest.mark.parametrize("form", ["archive", "json"])
def test_an_alias_is_in_the_next_export(
    app: Flask, ada: Person, eve: Person, person: Callable[[str], Person], tmp_path: Path, form: str
) -> None:
    talk = ada.new_conversation()
    ada.say(talk, "How deep is the harbour?")
    name = ada.get(f"/get_conversation_details/{talk}").json["conversation_friendly_id"]
    first = archive_of(app, ada, tmp_path / "first.zip")
    # Eve has a conversation of that name already, which goes before.
    own = eve.new_conversation()
    eve.say(own, "Mine.")
    database = app.extensions[EXTENSION].database
    set_friendly_id(database=database, user_email=eve.email, conversation_id=own, conversation_friendly_id=name)
    assert imported(app, eve, first)["imported"] == 1
    assert resolved(eve, name) == "Mine."
    listed = {each["conversation_id"]: each for each in eve.get("/list_conversation_by_user/assistant").json}
    (brought,) = listed.keys() - {own}
    assert listed[brought]["conversation_friendly_id"] != name
    eve.delete(f"/delete_conversation/{own}")

    grace = person("grace@example.org")
    second = tmp_path / ("second.zip" if form == "archive" else "second.json")
    if form == "archive":
        archive_of(app, eve, second)
    else:
        second.write_bytes(eve.get(f"/export_conversation/{brought}?format=json").get_data())
    assert imported(app, grace, second)["imported"] == 1
    assert resolved(grace, name) == "How deep is the harbour?"
    assert resolved(grace, listed[brought]["conversation_friendly_id"]) == "How deep is the harbour?"


def test_an_export_brings_no_names_that_are_none(app: Flask, ada: Person, eve: Person, tmp_path: Path) -> None:
    talk = ada.new_conversation()
    ada.say(talk, "How deep is the harbour?")
    exported = ada.get(f"/export_conversation/{talk}?format=json").json
    assert exported["conversation"]["aliases"] == []
    exported["conversation"]["aliases"] = ["deep_harbour_ab12", "no name", "", "x" * 500]
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(exported), encoding="utf-8")
    assert imported(app, eve, file)["imported"] == 1
    assert resolved(eve, "deep_harbour_ab12") == "How deep is the harbour?"
    again = eve.get("/list_conversation_by_user/assistant").json[0]["conversation_id"]
    assert eve.get(f"/export_conversation/{again}?format=json").json["conversation"]["aliases"] == ["deep_harbour_ab12"]
