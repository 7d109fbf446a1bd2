"""A `pkb.sqlite` of the first implementation, dropped like any other file: its memories with their numbers and ids."""

from __future__ import annotations

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from database.imports.repository import change_state, list_imports
from endpoints.http.scope import EXTENSION
from sentences import say
from tests.endpoints.conftest import Person
from tests.endpoints.export.test_archive_imported import imported, runner_of
from tests.truth_management_system.portability.test_first_implementation import SCHEMA, old_claim

pytestmark = pytest.mark.contract


def knowledge_base(path: Path, *claims: dict[str, Any], schema: str = SCHEMA) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
        for row in claims:
            columns, places = ", ".join(row), ", ".join("?" * len(row))
            connection.execute(f"INSERT INTO claims ({columns}) VALUES ({places})", [*row.values()])
        connection.commit()
    return path


def remembered(person: Person) -> dict[str, int]:
    listed = person.get("/pkb/claims?limit=100").json["claims"]
    return {each["friendly_id"]: each["claim_number"] for each in listed}


def test_memories_come_with_their_numbers_and_ids_once_and_are_taken_back(
    app: Flask, ada: Person, tmp_path: Path
) -> None:
    claims = [old_claim(7, user=ada.email), old_claim(9, user=ada.email), old_claim(8, user="eve@example.org")]
    file = knowledge_base(tmp_path / "anything.db", *claims)
    answer = ada.post("/import?name=anything.db", data=file.read_bytes(), content_type="application/octet-stream")
    assert (answer.status_code, answer.json["source"]) == (201, "first_implementation")
    assert ada.delete(f"/imports/{answer.json['import_id']}").status_code == 200

    came = imported(app, ada, file)
    assert (came["state"], came["imported"], came["failures"]) == ("done", 2, [])
    assert remembered(ada) == {"i_sail_07": 7, "i_sail_09": 9}
    again = imported(app, ada, file)
    assert (again["imported"], again["skipped"]) == (0, 2)
    assert remembered(ada) == {"i_sail_07": 7, "i_sail_09": 9}

    first = list_imports(database=app.extensions[EXTENSION].database, user_email=ada.email)[-1]
    change_state(
        database=app.extensions[EXTENSION].database,
        user_email=ada.email,
        import_id=first.import_id,
        state="undoing",
        among={"done"},
    )
    runner = runner_of(app, file)
    runner.run_until_idle()
    runner.close()
    assert remembered(ada) == {}


def test_memories_beside_folders_of_conversations_come_along(app: Flask, ada: Person, tmp_path: Path) -> None:
    base = knowledge_base(
        tmp_path / "pkb.sqlite", old_claim(7, user=ada.email), old_claim(8, user=ada.email, statement=" ")
    )
    file = tmp_path / "storage.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        said = [{"message_id": "1", "text": "Do I sail?", "sender": "user"}]
        archive.writestr("users/a_1/a_1-messages.json", json.dumps(said))
        archive.writestr("users/a_1/a_1-memory.json", json.dumps({"title": "Sailing"}))
        archive.write(base, "users/pkb.sqlite")
    came = imported(app, ada, file)
    assert (came["state"], came["source"], came["imported"]) == ("done", "first_implementation", 2)
    assert came["failures"] == [{"item": "users/pkb.sqlite", "reason": "Rows that made no sense and were left out: 1."}]
    assert remembered(ada) == {"i_sail_07": 7}


@pytest.mark.parametrize("folder", ["", "users/"])
def test_what_was_written_last_comes_along_from_the_log_beside_the_file(
    app: Flask, ada: Person, tmp_path: Path, folder: str
) -> None:
    path, file = tmp_path / "pkb.sqlite", tmp_path / "storage.zip"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        knowledge_base(path, old_claim(7, user=ada.email))
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        knowledge_base(path, old_claim(8, user=ada.email), schema="")
        with zipfile.ZipFile(file, "w") as archive:
            for each in ("pkb.sqlite", "pkb.sqlite-wal", "pkb.sqlite-shm"):
                archive.write(tmp_path / each, f"{folder}{each}")
    came = imported(app, ada, file)
    assert (came["state"], came["imported"], came["failures"]) == ("done", 2, [])
    assert remembered(ada) == {"i_sail_07": 7, "i_sail_08": 8}
    assert [*(tmp_path / "uploads").iterdir()] == []


def test_the_report_names_ids_that_lead_nowhere_now(app: Flask, ada: Person, tmp_path: Path) -> None:
    claims = [old_claim(number, user=ada.email, friendly_id=name) for number, name in enumerate(("agent_bo", "mem_1"))]
    came = imported(app, ada, knowledge_base(tmp_path / "pkb.sqlite", *claims))
    assert (came["state"], came["imported"]) == ("done", 2)
    (failure,) = came["failures"]
    assert (failure["item"], failure["reason"].split()[:3]) == ("pkb.sqlite", ["What", "was", "@agent_bo"])
    assert ada.get("/pkb/resolve/mem_1").json["claims"][0]["claim_number"] == 1


@pytest.mark.parametrize(
    ("schema", "claims", "reason"),
    [
        ("CREATE TABLE notes (x)", [], "This is no knowledge base of the first implementation: it has no claims."),
        (
            SCHEMA,
            [old_claim(1, user="eve@example.org"), old_claim(2, user="bob@example.org")],
            say("import_no_memories"),
        ),
    ],
)
def test_a_file_without_memories_of_the_person_is_no_success(
    app: Flask, ada: Person, tmp_path: Path, schema: str, claims: list[dict[str, Any]], reason: str
) -> None:
    came = imported(app, ada, knowledge_base(tmp_path / "pkb.sqlite", *claims, schema=schema))
    assert (came["state"], came["imported"]) == ("failed", 0)
    assert [each["reason"] for each in came["failures"]] == [reason]
    assert remembered(ada) == {}
