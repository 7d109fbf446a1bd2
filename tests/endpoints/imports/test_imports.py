"""An import over HTTP: uploaded, looked at, started, paused, reported, taken back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import TestResponse

from database.changes import changes_after
from database.conversations.repository import get_conversations_for_user
from database.search.indexing import index_pending
from endpoints.http.scope import EXTENSION
from endpoints.imports.models import ImportDetails, ImportItem
from portability.imports.runner import FOLDER, ImportRunner
from tests.endpoints.conftest import Person, refused, told
from tests.portability.importers.exports import chatgpt_talk
from tests.search.thesaurus import Thesaurus

LINES = b"".join(
    b'{"conversation": "%d", "title": "Talk %d", "role": "user", "text": "Hello", "created_at": %s}\n'
    b'{"conversation": "%d", "role": "assistant", "text": "Hi"}\n' % (number, number, begun, number)
    for number, begun in enumerate([b'"2024-03-01T08:00:00Z"', b"null", b"null"])
)


@pytest.fixture
def uploaded(ada: Person) -> Any:
    """Upload a file; the answer."""

    def upload(content: bytes = LINES, *, name: str = "talks.jsonl", **more: Any) -> TestResponse:
        return ada.post(f"/import?name={name}", data=content, content_type="application/octet-stream", **more)

    return upload


@pytest.fixture
def work(app: Flask) -> Any:
    """Do what the server does behind."""
    state = app.extensions[EXTENSION]
    runner = ImportRunner(database=state.database, uploads=state.settings.data_dir / FOLDER, share=1.0)
    yield runner.run_until_idle
    runner.close()


def titles(app: Flask, person: Person) -> list[str]:
    rows = get_conversations_for_user(database=app.extensions[EXTENSION].database, user_email=person.email)
    return sorted(row.title for row in rows)


def test_imports_are_jobs_under_another_name_and_may_begin_at_once(app, ada, eve, work):
    answer = ada.post("/import?name=talks.jsonl&start=true", data=LINES, content_type="application/octet-stream")
    item = told(answer, ImportItem, status=201)
    assert (item.state, item.job_id) == ("running", item.import_id)
    path = f"/jobs/{item.job_id}"
    assert ada.post(f"{path}/pause").json["state"] == "paused"
    assert ada.post(f"{path}/resume").json["state"] == "running"
    work()
    assert [each["job_id"] for each in ada.get("/jobs").json] == [item.job_id]
    assert ada.get(path).json["state"] == "done"
    report = ada.get(f"{path}/report").json
    assert {name: report[name] for name in ("imported", "updated", "skipped", "failed")} == {
        "imported": 3,
        "updated": 0,
        "skipped": 0,
        "failed": [],
    }
    assert titles(app, ada) == ["Talk 0", "Talk 1", "Talk 2"]
    assert refused(eve.get(path)) == (404, "import_not_found")
    assert refused(ada.post(f"{path}/cancel")) == (409, "conflict")
    assert ada.post(f"{path}/undo").json["state"] == "undoing"
    work()
    assert (ada.get(path).json["state"], titles(app, ada)) == ("undone", [])


def test_a_file_is_uploaded_counted_started_and_reported(app, ada, uploaded, work):
    answer = uploaded()
    assert answer.status_code == 201
    item = answer.json
    assert (item["source"], item["source_title"], item["state"]) == ("json_lines", "JSON Lines", "counting")
    assert (item["file_name"], item["file_size"]) == ("talks.jsonl", len(LINES))
    path = f"/imports/{item['import_id']}"
    work()
    details = ada.get(path).json
    assert (details["state"], details["conversations"], details["messages"]) == ("ready", 3, 6)
    assert [each["title"] for each in details["titles"]] == ["Talk 0", "Talk 1", "Talk 2"]
    assert [each["created_at"] for each in details["titles"]] == ["2024-03-01T08:00:00.000000Z", None, None]

    chosen = [each["id"] for each in details["titles"][:2]]
    assert ada.post(f"{path}/start", json={"conversations": chosen}).json["state"] == "running"
    assert ada.post(f"{path}/pause").json["state"] == "paused"
    assert ada.post(f"{path}/pause").status_code == 409
    assert ada.post(f"{path}/resume").json["state"] == "running"
    work()
    (listed,) = told(ada.get("/imports"), list[ImportItem])
    assert (listed.state, listed.imported, listed.skipped, listed.done) == ("done", 2, 1, 6)
    assert listed.messages_per_second is None or listed.messages_per_second > 0
    assert listed.seconds_left is None
    assert titles(app, ada) == ["Talk 0", "Talk 1"]

    report = ada.get(f"{path}/report")
    assert report.headers["Content-Disposition"].startswith("attachment")
    assert (report.json["imported"], report.json["failed"]) == (2, [])
    changes = [each["state"] for each in told_states(app, ada)]
    assert changes[0] == "counting"
    assert changes[-1] == "done"

    assert ada.post(f"{path}/undo").json["state"] == "undoing"
    work()
    assert ada.get(path).json["state"] == "undone"
    assert titles(app, ada) == []
    assert ada.delete(path).json == {"status": "ok"}
    assert ada.get(path).status_code == 404


def test_the_first_conversations_of_a_large_export_are_listed_before_the_second_batch_is_stored(
    app: Flask, ada: Person, uploaded: Any
) -> None:
    export = json.dumps([chatgpt_talk(number) for number in range(1, 3_001)]).encode()
    path = f"/imports/{uploaded(export, name='conversations.json').json['import_id']}"
    assert ada.post(f"{path}/start").json["state"] == "running"
    state = app.extensions[EXTENSION]
    runner = ImportRunner(database=state.database, uploads=state.settings.data_dir / FOLDER, share=1.0)
    runner.run_due(seconds=0)
    runner.close()

    item = ada.get(path).json
    assert (item["state"], item["counted"], item["imported"], item["done"]) == ("running", False, 40, 80)
    assert len(ada.get("/list_conversation_by_user/assistant").json) == 40
    changes = changes_after(database=state.database, user_email=ada.email, after=0, most=1_000)
    said = [each.fields["title"] for each in changes if (each.kind, each.change) == ("conversation", "created")]
    assert said == [f"Talk {number}" for number in range(1, 21)]


def told_states(app: Flask, person: Person) -> list[dict[str, Any]]:
    found = changes_after(database=app.extensions[EXTENSION].database, user_email=person.email, after=0, most=1_000)
    return [each.fields for each in found if each.kind == "import" and each.change != "gone"]


def test_a_form_that_is_not_known_is_refused_and_leaves_nothing(app, ada, uploaded):
    answer = uploaded(b"Dear diary", name="diary.txt")
    assert refused(answer) == (422, "import_form_unknown")
    assert "ChatGPT" in answer.get_data(as_text=True)
    for empty in (b"", b"PK\x05\x06" + bytes(18)):
        answer = uploaded(empty, name="export.zip")
        assert refused(answer) == (422, "import_refused")
        assert answer.json["message"] == "export.zip is empty. Choose the file of an export."
    assert ada.get("/imports").json == []
    folder = app.extensions[EXTENSION].settings.data_dir / FOLDER
    assert not folder.exists() or list(folder.iterdir()) == []


def test_a_cancelled_import_leaves_no_file_and_is_not_started_again(app, ada, uploaded):
    path = f"/imports/{uploaded().json['import_id']}"
    folder = app.extensions[EXTENSION].settings.data_dir / FOLDER
    assert len(list(folder.iterdir())) == 1
    assert ada.post(f"{path}/cancel").json["state"] == "cancelled"
    assert list(folder.iterdir()) == []
    assert ada.post(f"{path}/start").status_code == 409


def test_a_workspace_that_is_not_mine_takes_no_import(ada, uploaded):
    path = f"/imports/{uploaded().json['import_id']}"
    answer = ada.post(f"{path}/start", json={"workspace_id": "nothing"})
    assert refused(answer) == (404, "workspace_not_found")
    assert ada.get(path).json["state"] == "counting"


def test_the_sources_say_what_they_expect(ada):
    sources = ada.get("/imports/sources").json
    assert {"chatgpt", "claude", "anaphora", "json_lines"} <= {each["source"] for each in sources}
    assert all(each["expects"] for each in sources)


def test_an_import_says_how_many_messages_are_not_found_by_meaning_yet(
    app: Flask, ada: Person, eve: Person, uploaded: Any, work: Any
) -> None:
    state = app.extensions[EXTENSION]
    eves = eve.new_conversation()
    eve.say(eves, "Hello")
    path = f"/imports/{uploaded().json['import_id']}"
    ada.post(f"{path}/start")
    work()
    while index_pending(database=state.database):
        pass
    assert told(ada.get(path), ImportDetails).vectors_left is None

    model = Thesaurus()
    state.vectors._model = lambda: model
    assert told(ada.get(path), ImportDetails).vectors_left == 6
    while state.vectors.embed_pending():
        pass
    assert told(ada.get(path), ImportDetails).vectors_left == 0
