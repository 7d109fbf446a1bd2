"""A conversation is one and the same in a bundle, in an export as JSON and in the archive of its account."""

from __future__ import annotations

import zipfile
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from database.conversations.repository import get_conversations_for_user
from database.history.editing import edit_message
from database.history.reading import list_messages
from endpoints.http.scope import EXTENSION, AppState
from portability.importers.first_implementation import FirstImplementationImporter
from sentences import say
from tests.endpoints.conftest import Person
from tests.endpoints.export.test_archive_imported import archive_of, files_of, imported, send_files

pytestmark = pytest.mark.contract
FORMS = ("bundle", "json", "account")


def written(app: Flask, person: Person, conversation_id: str, form: str, file: Path) -> Path:
    if form == "account":
        return archive_of(app, person, file)
    file.write_bytes(person.get(f"/export_conversation/{conversation_id}?format={form}&files=true").data)
    return file


def branched_talk(person: Person) -> str:
    """A conversation with files, whose second question was asked again."""
    conversation_id, _ = send_files(person, one=b"zqx first")
    person.say(conversation_id, "And then?")
    asked = person.get(f"/list_messages_by_conversation/{conversation_id}").json[2]
    again = {"text": "And before?", "client_message_id": "zqx-again-1"}
    assert b"forty-two" in person.post(f"/branch/{conversation_id}/{asked['message_id']}", json=again).data
    return conversation_id


def stored(app: Flask, person: Person) -> list[tuple[str, list[Any]]]:
    """The conversations of a person, and all that identifies their messages."""
    state: AppState = app.extensions[EXTENSION]
    own: dict[str, Any] = {"database": state.database, "user_email": person.email}
    rows = get_conversations_for_user(**own, domain="assistant")
    return [
        (each.conversation_friendly_id or "", [
            (row.message_id, row.short_id, row.message_short_hash, row.text, row.created_at)
            for row in list_messages(**own, conversation_id=each.conversation_id)
        ])
        for each in rows
    ]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), list(permutations(FORMS, 2)))
def test_a_second_import_in_another_form_adds_nothing(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, first: str, second: str
) -> None:
    conversation_id = branched_talk(ada)
    came = imported(app, eve, written(app, ada, conversation_id, first, tmp_path / f"{first}.zip"))
    assert (came["state"], came["failures"]) == ("done", [])
    before = stored(app, eve)
    assert (len(before), [text for *_, text, _ in before[0][1]][2]) == (1, "And before?")

    came = imported(app, eve, written(app, ada, conversation_id, second, tmp_path / f"{second}.zip"))
    assert came["failures"] == []
    assert stored(app, eve) == before
    assert files_of(eve) == [("one.txt", b"zqx first")]
    assert len(eve.get("/list_conversation_by_user/assistant").json) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_form_of_what_is_here_already_adds_nothing(app: Flask, ada: Person, tmp_path: Path, form: str) -> None:
    before = branched_talk(ada) and stored(app, ada)
    conversation_id = ada.get("/list_conversation_by_user/assistant").json[0]["conversation_id"]
    came = imported(app, ada, written(app, ada, conversation_id, form, tmp_path / f"{form}.zip"))
    assert (came["imported"], came["failures"]) == (0, [])
    assert stored(app, ada) == before


def questions(app: Flask, person: Person) -> list[str]:
    return [text for *_, text, _ in stored(app, person)[0][1]][::2]


def edit(app: Flask, person: Person, index: int, text: str) -> None:
    """Edit a message of the only conversation."""
    state: AppState = app.extensions[EXTENSION]
    own: dict[str, Any] = {"database": state.database, "user_email": person.email}
    (row,) = get_conversations_for_user(**own, domain="assistant")
    own["conversation_id"] = row.conversation_id
    edit_message(**own, message_id=list_messages(**own)[index - 1].message_id, index=index, text=text)


def test_a_newer_bundle_brings_edits_and_what_it_does_not_bring_is_reported(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "zqx one")
    ada.say(conversation_id, "zqx two")

    def bundle() -> dict[str, Any]:
        return imported(app, eve, written(app, ada, conversation_id, "bundle", tmp_path / "bundle.zip"))

    older = written(app, ada, conversation_id, "bundle", tmp_path / "older.zip")
    first = bundle()
    edit(app, ada, 1, "zqx one, edited")
    came = bundle()
    assert (first["imported"], came["updated"], came["failures"]) == (1, 1, [])
    assert questions(app, eve) == ["zqx one, edited", "zqx two"]
    assert (bundle()["skipped"], imported(app, eve, older)["failures"]) == (1, [])

    edit(app, ada, 1, "zqx one, edited again")
    edit(app, eve, 3, "zqx mine")
    edit(app, ada, 3, "zqx two, edited")
    came = bundle()
    assert questions(app, eve) == ["zqx one, edited again", "zqx mine"]
    assert [each["reason"] for each in came["failures"]] == [say("import_texts_differ", count=1)]
    came = bundle()
    assert (came["imported"], came["updated"], came["skipped"], len(came["failures"])) == (0, 0, 1, 1)


def test_a_bundle_that_came_in_as_one_of_the_first_implementation_goes_on_there(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "zqx one")
    file = written(app, ada, conversation_id, "bundle", tmp_path / "bundle.zip")
    with monkeypatch.context() as before:
        before.setattr("portability.importers.first_implementation.FORMAT", "no form of then")
        assert imported(app, eve, file)["imported"] == 1
    ((_, messages),) = stored(app, eve)

    came = imported(app, eve, file)
    assert (came["source"], came["imported"], came["skipped"]) == (FirstImplementationImporter.source, 0, 1)
    ada.say(conversation_id, "zqx two")
    imported(app, eve, written(app, ada, conversation_id, "bundle", tmp_path / "bundle.zip"))
    ((_, longer),) = stored(app, eve)
    assert (longer[:2], len(longer)) == (messages, 4)


def test_nothing_of_the_index_of_a_bundle_runs_and_a_broken_one_is_read_all_the_same(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "zqx one")
    file = written(app, ada, conversation_id, "bundle", tmp_path / "bundle.zip")
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            runs = b"\x80\x04\x8c\x15anaphora-conversation0cbuiltins\nexit\n(tR\x8c"
            archive.writestr(name, runs if name.endswith(".index") else content)
    assert imported(app, eve, file)["imported"] == 1
    assert stored(app, eve)[0][1][0][3] == "zqx one"
