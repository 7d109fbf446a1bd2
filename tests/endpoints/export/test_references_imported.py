"""References of exports and archives lead to what they name as the account has it into which they are imported."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select, update

from database.imports import outside
from database.imports.changes import TARGETS
from database.imports.repository import delete_import, list_imports
from database.schema import imported_changes, imports, message_references
from endpoints.http.scope import EXTENSION, AppState
from tests.endpoints.conftest import Person
from tests.endpoints.export.test_archive_imported import archive_of, imported, runner_of, taken_back

pytestmark = pytest.mark.contract


def messages_of(person: Person, conversation_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = person.get(f"/list_messages_by_conversation/{conversation_id}").json
    return found


def titled(person: Person, title: str) -> str:
    """The id of the person's conversation with this title."""
    listed = person.get("/list_conversation_by_user/assistant").json
    (found,) = [each["conversation_id"] for each in listed if each["title"] == title]
    return str(found)


def room(person: Person, title: str, *texts: str) -> str:
    conversation_id = person.new_conversation()
    for text in texts:
        person.say(conversation_id, text)
    person.put(f"/conversations/{conversation_id}/title", json={"title": title})
    return conversation_id


def referring(ada: Person) -> dict[str, Any]:
    """Two conversations of Ada's, the second of which names a message, the first conversation, and memories."""
    first = room(ada, "Water", "How much water?")
    context = ada.post("/pkb/contexts", json={"name": "Garden"}).json["context"]["context_id"]
    claim = ada.remember("Tomatoes need water", contexts=[context], tags=["plants"])
    friendly_id = ada.get(f"/get_conversation_details/{first}").json["conversation_friendly_id"]
    question = messages_of(ada, first)[0]
    refs = {
        "message": f"@conversation_{friendly_id}_message_{question['message_short_hash']}",
        "conversation": f"@conversation_{friendly_id}",
        "range": f"@conversation_{friendly_id}_messages_1-2",
        "claim": f"@{claim.friendly_id}",
        "tag": "@plants_tag",
    }
    second = room(ada, "Summer", f"As said in {' and '.join(refs.values())}, again.")
    return {"first": first, "second": second, "refs": refs, "claim": claim, "question": question["message_id"]}


def targets_of(person: Person, conversation_id: str, refs: dict[str, str]) -> dict[str, dict[str, Any]]:
    """The targets of the first message of a conversation, by the names of the references."""
    report = {each["ref"]: each for each in messages_of(person, conversation_id)[0]["references"]}
    assert {report[ref]["status"] for ref in refs.values()} == {"resolved"}
    assert all(report[ref]["title"] for ref in refs.values())
    return {name: report[ref]["target"] for name, ref in refs.items()}


def reversed_in(file: Path) -> Path:
    """The ZIP with its members in the opposite order."""
    turned = file.with_name("turned.zip")
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(turned, "w") as made:
        for name in reversed(archive.namelist()):
            made.writestr(name, archive.read(name))
    return turned


def check_leads_to_own(app: Flask, person: Person, told: dict[str, Any]) -> None:
    """All references lead to what the person has themself, in the reports and in the rows that follow from them."""
    first, second = titled(person, "Water"), titled(person, "Summer")
    question = messages_of(person, first)[0]
    targets = targets_of(person, second, told["refs"])
    assert {name: targets[name]["conversation_id"] for name in ("message", "conversation", "range")} == {
        "message": first,
        "conversation": first,
        "range": first,
    }
    assert targets["message"]["message_id"] == targets["range"]["message_id"] == question["message_id"]
    (claim,) = person.get("/pkb/claims").json["claims"]
    assert targets["claim"] == {"claim_id": claim["claim_id"]}
    (tag,) = person.get("/pkb/tags").json["tags"]
    assert targets["tag"] == {"tag_id": tag["tag_id"]}
    assert question["backlink_count"] == 1
    (link,) = person.get(f"/messages/{question['message_id']}/backlinks").json
    assert (link["conversation_id"], link["title"]) == (second, "Summer")
    state: AppState = app.extensions[EXTENSION]
    own = message_references.c
    with state.database.reading() as connection:
        rows = connection.execute(select(message_references).where(own.user_email == person.email)).all()
        left = connection.execute(select(imported_changes.c.thing_id).where(imported_changes.c.kind == TARGETS)).all()
    assert {row.target_conversation_id for row in rows} <= {first, None}
    assert {row.target_message_id for row in rows} <= {question["message_id"], None}
    assert {row.target_id for row in rows} == {claim["claim_id"], tag["tag_id"], None}
    assert left == []


@pytest.mark.parametrize("ordered", [lambda file: file, reversed_in])
def test_references_lead_to_conversations_and_memories_of_the_account_that_an_archive_goes_into(
    ordered: Callable[[Path], Path], app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    told = referring(ada)
    before = targets_of(ada, told["second"], told["refs"])
    file = ordered(archive_of(app, ada, tmp_path / "everything.zip"))
    assert imported(app, eve, file)["failures"] == []
    check_leads_to_own(app, eve, told)
    text = messages_of(eve, titled(eve, "Summer"))[0]["text"]
    assert text == messages_of(ada, told["second"])[0]["text"]
    imported(app, eve, file)
    check_leads_to_own(app, eve, told)
    assert targets_of(ada, told["second"], told["refs"]) == before


def test_they_do_where_the_ids_of_messages_are_free_and_the_conversations_get_others(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    told = referring(ada)
    file = archive_of(app, ada, tmp_path / "everything.zip")
    for conversation_id in (told["first"], told["second"]):
        assert ada.delete(f"/delete_conversation/{conversation_id}").status_code == 200
    assert ada.post("/empty_bin/assistant").json["erased"] == 2
    assert imported(app, eve, file)["failures"] == []
    assert messages_of(eve, titled(eve, "Water"))[0]["message_id"] == told["question"]
    check_leads_to_own(app, eve, told)
    assert imported(app, ada, file)["failures"] == []
    check_leads_to_own(app, ada, told)
    assert titled(ada, "Water") == told["first"]


def exported(person: Person, conversation_id: str, file: Path) -> Path:
    file.write_bytes(person.get(f"/api/export?room={conversation_id}&format=json").get_data())
    return file


def test_a_single_export_loses_the_targets_that_the_person_has_not_and_gets_those_that_they_have(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    told = referring(ada)
    second = exported(ada, told["second"], tmp_path / "second.json")
    assert imported(app, eve, second)["failures"] == []
    assert targets_of(eve, titled(eve, "Summer"), told["refs"]) == {name: {} for name in told["refs"]}
    bob_has = exported(ada, told["first"], tmp_path / "first.json")
    assert taken_back(app, eve, second) == []
    assert imported(app, eve, bob_has)["failures"] == []
    assert imported(app, eve, second)["failures"] == []
    targets = targets_of(eve, titled(eve, "Summer"), told["refs"])
    question = messages_of(eve, titled(eve, "Water"))[0]
    assert targets["message"]["message_id"] == question["message_id"] != told["question"]
    assert targets["conversation"] == {"conversation_id": titled(eve, "Water")}
    assert (targets["claim"], targets["tag"], question["backlink_count"]) == ({}, {}, 1)


def test_what_a_later_import_brings_is_linked_when_it_comes(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outside, "_REPORTS_AT_ONCE", 1)
    told = referring(ada)
    room(ada, "Autumn", f"See {told['refs']['conversation']}.")
    titles = ("Summer", "Autumn")
    for title in titles:
        file = exported(ada, titled(ada, title), tmp_path / f"{title}.json")
        assert imported(app, eve, file)["failures"] == []
    before = {title: eve.get(f"/list_messages_by_conversation/{titled(eve, title)}") for title in titles}
    assert imported(app, eve, exported(ada, told["first"], tmp_path / "first.json"))["failures"] == []
    first = titled(eve, "Water")
    question = messages_of(eve, first)[0]
    for title in titles:
        again = eve.get(f"/list_messages_by_conversation/{titled(eve, title)}")
        report = {each["ref"]: each["target"] for each in again.json[0]["references"]}
        assert report[told["refs"]["conversation"]] == {"conversation_id": first}
        assert again.headers["ETag"] != before[title].headers["ETag"]
    targets = targets_of(eve, titled(eve, "Summer"), told["refs"])
    assert targets["message"]["message_id"] == targets["range"]["message_id"] == question["message_id"]
    assert (targets["claim"], targets["tag"], question["backlink_count"]) == ({}, {}, 1)
    # The memories come last, with everything that is here already.
    imported(app, eve, archive_of(app, ada, tmp_path / "everything.zip"))
    check_leads_to_own(app, eve, told)


def test_a_reply_to_what_a_later_import_brings_is_one_when_it_comes(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    first = room(ada, "Water", "How much water?")
    second = ada.new_conversation()
    ada.say(second, "How often?", reply_to=messages_of(ada, first)[0]["message_id"])
    ada.put(f"/conversations/{second}/title", json={"title": "Summer"})
    came = imported(app, eve, exported(ada, second, tmp_path / "second.json"))
    (dropped,) = came["failures"]
    assert dropped["item"] == "Summer"
    state: AppState = app.extensions[EXTENSION]
    own: dict[str, Any] = {"database": state.database, "user_email": eve.email}
    delete_import(**own, import_id=list_imports(**own)[0].import_id)
    # What never comes is told of once.
    assert imported(app, eve, exported(ada, room(ada, "Else", "Hm?"), tmp_path / "else.json"))["failures"] == []
    assert messages_of(eve, titled(eve, "Summer"))[0]["reply_to_id"] is None
    assert imported(app, eve, exported(ada, first, tmp_path / "first.json"))["failures"] == []
    (replied,) = [each for each in messages_of(eve, titled(eve, "Summer")) if each["text"] == "How often?"]
    assert replied["reply_to_id"] == messages_of(eve, titled(eve, "Water"))[0]["message_id"]
    # What was taken back comes again, to where the reply still leads.
    assert taken_back(app, eve, tmp_path / "first.json") == []
    assert imported(app, eve, tmp_path / "first.json")["failures"] == []
    assert replied["reply_to_id"] == messages_of(eve, titled(eve, "Water"))[0]["message_id"]
    assert imported(app, eve, tmp_path / "first.json")["failures"] == []


def test_an_import_that_crashes_while_references_are_linked_links_the_rest_when_it_goes_on(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = referring(ada)
    friendly_id = told["refs"]["conversation"]
    for number in range(3):
        room(ada, f"More {number}", f"See {friendly_id} and @{told['claim'].friendly_id}, {number}.")
    file = archive_of(app, ada, tmp_path / "everything.zip")
    monkeypatch.setattr(outside, "_REPORTS_AT_ONCE", 1)
    point, pointed = outside._point, list[int]()

    def crash(*given: Any, **more: Any) -> Any:
        pointed.append(len(given[1]))
        if len(pointed) == 2:
            raise KeyboardInterrupt
        return point(*given, **more)

    monkeypatch.setattr(outside, "_point", crash)
    with pytest.raises(KeyboardInterrupt):
        imported(app, eve, file)
    state: AppState = app.extensions[EXTENSION]
    ids = {told["first"], told["second"], told["question"], told["claim"].claim_id}
    for each in (messages_of(eve, titled(eve, title))[0] for title in ("Summer", "More 0", "More 1", "More 2")):
        assert not any(name in json.dumps(each["references"]) for name in ids)
    runner = runner_of(app, file)
    state.database.write(lambda connection: connection.execute(update(imports).values(owner=None, lease_until=None)))
    runner.run_until_idle()
    runner.close()
    assert len(pointed) > 2
    assert set(pointed) == {1}
    check = {titled(eve, "Water")}
    for title in ("More 0", "More 1", "More 2"):
        report = messages_of(eve, titled(eve, title))[0]["references"]
        assert {each["target"]["conversation_id"] for each in report if each["kind"] == "conversation"} == check
    first, refs = titled(eve, "Water"), told["refs"]
    assert targets_of(eve, titled(eve, "Summer"), refs)["message"]["conversation_id"] == first
