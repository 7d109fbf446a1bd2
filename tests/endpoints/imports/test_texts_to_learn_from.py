"""What Claude remembered comes as a document, and the import offers to take memories from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask

from tests.endpoints.conftest import Person
from tests.endpoints.export.test_archive_imported import imported, taken_back
from tests.portability.importers.exports import claude_conversation, claude_message, write_zip

pytestmark = pytest.mark.contract
PATH = "What Claude remembered.md"
DOCUMENT = "/api/vault/document?path=What%20Claude%20remembered.md"


@pytest.fixture
def export(tmp_path: Path) -> Any:
    """An export of Claude, which remembered `texts`."""

    def make(*texts: str) -> Path:
        remembered = [{"conversations_memory": text, "account_uuid": "x"} for text in texts]
        talk = claude_conversation(claude_message("m1", "human", "Hello"), claude_message("m2", "assistant", "Hi"))
        return write_zip(tmp_path / "claude.zip", {"conversations.json": [talk], "memories.json": remembered})

    return make


def offered(person: Person) -> list[list[str]]:
    """The texts to learn from of each import, the newest first."""
    listed = person.get("/imports").json
    details = [person.get(f"/imports/{each['import_id']}").json for each in listed]
    return [each["to_learn_from"] for each in details]


def test_what_claude_remembered_is_offered_to_learn_from_and_nothing_is_stored_unasked(
    app: Flask, ada: Person, eve: Person, export: Any
) -> None:
    came = imported(app, ada, export("She sails.", "She has a sloop."))
    assert (came["state"], came["imported"], came["failures"]) == ("done", 2, [])
    assert offered(ada) == [[PATH]]
    assert ada.get(DOCUMENT).json["text"] == "She sails.\n\nShe has a sloop."
    assert ada.get("/pkb/claims").json["claims"] == []
    imported(app, eve, export())
    assert offered(eve) == [[]]


def test_an_import_that_brings_nothing_new_offers_it_again_and_takes_nothing_away_when_it_is_taken_back(
    app: Flask, ada: Person, export: Any
) -> None:
    file = export("She sails.")
    imported(app, ada, file)
    assert imported(app, ada, file)["skipped"] == 2
    assert offered(ada) == [[PATH], [PATH]]
    assert taken_back(app, ada, file) == []
    assert offered(ada) == [[], [PATH]]
    assert ada.get(DOCUMENT).json["text"] == "She sails."


def test_what_a_later_export_remembers_stands_beside_the_earlier_text(app: Flask, ada: Person, export: Any) -> None:
    imported(app, ada, export("She sails."))
    later, second = export("She sails.\r\nShe has a sloop."), "What Claude remembered 2.md"
    came = imported(app, ada, later)
    assert (came["imported"], came["skipped"], came["failures"]) == (1, 1, [])
    assert imported(app, ada, later)["skipped"] == 2
    assert offered(ada) == [[second], [second], [PATH]]
    paths = [each["path"] for each in ada.get("/api/vault/documents").json["documents"]]
    assert paths == [second, PATH]
    assert ada.get(DOCUMENT).json["text"] == "She sails."


def test_a_document_that_is_gone_is_not_offered(app: Flask, ada: Person, export: Any) -> None:
    file = export("She sails.")
    imported(app, ada, file)
    assert ada.delete(DOCUMENT).status_code == 200
    assert offered(ada) == [[]]
    imported(app, ada, file)
    assert offered(ada) == [[PATH], [PATH]]
    assert taken_back(app, ada, file) == []
    assert ada.get(DOCUMENT).status_code == 404


def test_a_document_of_a_project_that_was_changed_there_stands_beside_the_earlier_text(
    app: Flask, ada: Person, tmp_path: Path
) -> None:
    def export(*texts: str) -> Path:
        docs = [{"uuid": f"d{number}", "filename": "plan.md", "content": text} for number, text in enumerate(texts)]
        project = {"uuid": "p1", "name": "Boat", "docs": docs}
        talk = claude_conversation(claude_message("m1", "human", "Hello"), claude_message("m2", "assistant", "Hi"))
        return write_zip(tmp_path / "claude.zip", {"conversations.json": [talk], "projects.json": [project]})

    imported(app, ada, export("Buy wood.", "Buy sails."))
    later = export("Buy oak.", "Buy sails.")
    came = imported(app, ada, later)
    assert (came["imported"], came["failures"]) == (1, [])
    assert imported(app, ada, later)["imported"] == 0
    told = ada.get("/api/vault/documents").json["documents"]
    texts = [ada.get(f"/api/vault/document?path={quote(each['path'])}").json["text"] for each in told]
    assert sorted(texts) == ["Buy oak.", "Buy sails.", "Buy wood."]
