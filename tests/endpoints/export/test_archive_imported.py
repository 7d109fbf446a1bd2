"""The archive of an account comes into another one, whole; twice adds nothing."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from endpoints.export.views import account_source
from endpoints.http.scope import EXTENSION, AppState
from portability.account_archive import account_archive
from portability.errors import BrokenImportError
from portability.importers.import_file import ImportFile
from portability.importers.imported import FailedItem, ImportedPart
from portability.importers.registry import importer_for
from portability.imports.accepting import accept_file
from portability.imports.documents import DocumentStore
from portability.imports.parts import PartStore
from portability.imports.runner import ImportRunner
from tests.endpoints.conftest import Person
from tests.endpoints.export.test_account_archive import fill

pytestmark = pytest.mark.contract


def archive_of(app: Flask, person: Person, file: Path) -> Path:
    with app.app_context():
        file.write_bytes(b"".join(account_archive(account_source(person.email))))
    return file


def imported(app: Flask, person: Person, file: Path) -> dict[str, Any]:
    """Import a file; what came of it."""
    state: AppState = app.extensions[EXTENSION]
    runner = ImportRunner(
        database=state.database,
        uploads=file.parent / "uploads",
        store_document=DocumentStore(state.vaults),
        store_part=PartStore(database=state.database, memories=state.knowledge.for_user),
        share=1.0,
    )
    accept_file(file, name=file.name, database=state.database, user_email=person.email, state="running")
    came: dict[str, Any] = {}
    while (which := runner.run_due()) is not None:
        came = {name: getattr(which, name) for name in ("state", "source", "imported", "skipped", "failures")}
    runner.close()
    return came


def test_everything_of_an_account_comes_into_another_and_twice_adds_nothing(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    friendly_id = fill(ada, "zqxada")
    file = archive_of(app, ada, tmp_path / "everything.zip")
    came = imported(app, eve, file)
    assert (came["state"], came["source"], came["failures"]) == ("done", "account", [])
    assert came["imported"] == 4
    (listed,) = eve.get("/list_conversation_by_user/assistant").json
    assert (listed["title"], listed["conversation_friendly_id"]) == ("zqxada <Tomatoes>", friendly_id)
    texts = [each["text"] for each in eve.get(f"/list_messages_by_conversation/{listed['conversation_id']}").json]
    assert texts[0] == "zqxada & <b>how much water?</b>"
    assert eve.get("/api/vault/document?path=zqxada/notes%20%231.md").json["text"] == "# zqxada notes\n"
    assert [each["statement"] for each in eve.get("/pkb/claims").json["claims"]] == ["zqxada memory"]
    assert eve.get("/get_user_detail").json == {"text": "zqxadadetail"}
    assert "zqxadaagent" in [each["title"] for each in eve.get("/api/agents").json]
    assert [each["name"] for each in eve.get("/presets").json + eve.get("/prompts").json] == [
        "zqxadapreset",
        "zqxadaprompt",
    ]
    again = imported(app, eve, file)
    assert (again["imported"], again["skipped"], again["failures"]) == (0, 4, [])
    assert len(eve.get("/list_conversation_by_user/assistant").json) == 1
    assert len(eve.get("/api/agents").json) == 2


def test_what_the_person_has_here_stays_and_agents_answer_only_when_asked(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    fill(ada, "zqxada")
    agent = {"title": "Watcher", "service": "by_itself"}
    assert ada.post("/api/agents", json=agent).status_code == 201
    eve.post("/modify_user_detail", json={"text": "Eve's own"})
    eve.post("/prompts", json={"name": "zqxadaprompt", "text": "Eve's own"})
    assert imported(app, eve, archive_of(app, ada, tmp_path / "everything.zip"))["failures"] == []
    assert eve.get("/get_user_detail").json == {"text": "Eve's own"}
    assert [each["text"] for each in eve.get("/prompts").json] == ["Eve's own"]
    assert {each["service"] for each in eve.get("/api/agents").json} == {"asked"}


def test_an_archive_that_is_damaged_says_where_and_the_rest_comes_in(tmp_path: Path) -> None:
    file = tmp_path / "everything.zip"
    manifest = {"format": "anaphora-account", "schema": 1}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        archive.writestr("documents/a.md", b"\xff\xfe")
        archive.writestr("memories/memories.json", "[]")
        archive.writestr("settings.json", "{}")
    with ImportFile(file) as opened:
        importer = importer_for(opened)
        assert importer.source == "account"
        found = list(importer.conversations(opened))
    assert found == [
        FailedItem("documents/a.md", "The document is not UTF-8."),
        FailedItem("memories/memories.json", "memories/memories.json holds no JSON object."),
        ImportedPart("settings.json", {}),
    ]


def test_an_archive_of_a_later_schema_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "everything.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "anaphora-account", "schema": 2}))
    with ImportFile(file) as opened, pytest.raises(BrokenImportError, match="the schema 2"):
        list(importer_for(opened).conversations(opened))
