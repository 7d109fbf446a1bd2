"""The archive of an account comes into another one, whole; twice adds nothing."""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from flask import Flask
from sqlalchemy import select

from database.conversations.repository import get_conversation
from database.imports.repository import change_state, get_import, list_imports
from database.imports.workspaces import Folder, make_workspaces
from database.schema import activities
from endpoints.export.views import account_source
from endpoints.http.scope import EXTENSION, AppState
from language_models.testing import ScriptedChatModel
from portability.account_archive import account_archive
from portability.errors import BrokenImportError
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import FailedItem, ImportedPart
from portability.importers.registry import importer_for
from portability.imports.accepting import accept_file
from portability.imports.documents import DocumentStore
from portability.imports.files import FileStore
from portability.imports.parts import PartStore
from portability.imports.runner import ImportRunner
from sentences import say
from tests.endpoints.conftest import Person
from tests.endpoints.export.test_account_archive import fill

pytestmark = pytest.mark.contract


def archive_of(app: Flask, person: Person, file: Path) -> Path:
    with app.app_context():
        file.write_bytes(b"".join(account_archive(account_source(person.email))))
    return file


def runner_of(app: Flask, file: Path) -> ImportRunner:
    """Works on imports as the server does."""
    state: AppState = app.extensions[EXTENSION]
    return ImportRunner(
        database=state.database,
        uploads=file.parent / "uploads",
        store_document=DocumentStore(state.vaults, database=state.database),
        store_part=PartStore(database=state.database, memories=state.knowledge.for_user),
        store_files=FileStore(state.attachments),
        share=1.0,
    )


def imported(app: Flask, person: Person, file: Path) -> dict[str, Any]:
    """Import a file; what came of it."""
    state: AppState = app.extensions[EXTENSION]
    runner = runner_of(app, file)
    accept_file(file, name=file.name, database=state.database, user_email=person.email, state="running")
    came: dict[str, Any] = {}
    while (which := runner.run_due()) is not None:
        came = {
            name: getattr(which, name) for name in ("state", "source", "imported", "updated", "skipped", "failures")
        }
    runner.close()
    return came


def test_everything_of_an_account_comes_into_another_and_twice_adds_nothing(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    friendly_id = fill(ada, "zqxada")
    file = archive_of(app, ada, tmp_path / "everything.zip")
    came = imported(app, eve, file)
    assert (came["state"], came["source"], came["failures"]) == ("done", "account", [])
    assert came["imported"] == 5
    (listed,) = eve.get("/list_conversation_by_user/assistant").json
    assert (listed["title"], listed["conversation_friendly_id"]) == ("zqxada <Tomatoes>", friendly_id)
    assert folder_of(eve, listed["conversation_id"]) == ["zqxadafolder"]
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
    assert (again["imported"], again["skipped"], again["failures"]) == (0, 5, [])
    assert len(eve.get("/list_conversation_by_user/assistant").json) == 1
    assert len(eve.get("/api/agents").json) == 2


@pytest.mark.parametrize("content", [b"na\xefve \xff words\n", b"a \x00 b\n"])
def test_a_document_that_is_no_utf_8_is_archived_as_it_is_and_reported_by_name(
    content: bytes, app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    state: AppState = app.extensions[EXTENSION]
    root = state.vaults.of(ada.email).root
    root.mkdir(parents=True, exist_ok=True)
    (root / "old.md").write_bytes(content)
    (root / "new.md").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    file = archive_of(app, ada, tmp_path / "everything.zip")
    with zipfile.ZipFile(file) as archive:
        assert archive.read("documents/old.md") == content
        assert archive.read("documents/new.md") == b"\xef\xbb\xbfone\r\ntwo\r\n"
    came = imported(app, eve, file)
    assert [(each["item"], each["reason"]) for each in came["failures"]] == [
        ("documents/old.md", "The document is not UTF-8.")
    ]
    assert [each["path"] for each in eve.get("/api/vault/documents").json["documents"]] == ["new.md"]
    assert eve.get("/api/vault/document?path=new.md").json["text"] == "one\ntwo\n"


def taken_back(app: Flask, person: Person, file: Path, *, nth: int = 0) -> list[dict[str, str]]:
    """Take the newest import back, or the `nth` before it; what stays."""
    state: AppState = app.extensions[EXTENSION]
    own: dict[str, Any] = {"database": state.database, "user_email": person.email}
    newest = list_imports(**own)[nth].import_id
    change_state(**own, import_id=newest, state="undoing", among=["done"])
    runner = runner_of(app, file)
    runner.run_until_idle()
    runner.close()
    assert get_import(**own, import_id=newest).state == "undone"
    return get_import(**own, import_id=newest).kept


def everything(person: Person) -> dict[str, Any]:
    """What a person has, by kinds."""
    listed = person.get("/api/vault/documents").json["documents"]
    return {
        "conversations": person.get("/list_conversation_by_user/assistant").json,
        "folders": [each["workspace_name"] for each in person.get("/list_workspaces/assistant").json],
        "documents": [each["path"] for each in listed],
        "memories": person.get("/pkb/export?format=json").json["data"],
        "detail": person.get("/get_user_detail").json,
        "agents": [each["title"] for each in person.get("/api/agents").json],
        "presets": person.get("/presets").json,
        "prompts": person.get("/prompts").json,
    }


def test_an_archive_that_is_taken_back_leaves_the_account_as_it_was(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    fill(ada, "zqxada")
    fill(eve, "zqxeve")
    file = archive_of(app, ada, tmp_path / "everything.zip")
    before = everything(eve)
    assert imported(app, eve, file)["failures"] == []
    assert everything(eve).keys() == {name for name, each in everything(eve).items() if each != before[name]} | {
        "detail"
    }
    assert taken_back(app, eve, file) == []
    assert everything(eve) == before


def test_what_the_person_changed_of_an_archive_since_stays_and_the_report_says_so(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    fill(ada, "zqxada")
    file = archive_of(app, ada, tmp_path / "everything.zip")
    assert imported(app, eve, file)["failures"] == []
    eve.post("/modify_user_detail", json={"text": "Eve's own"})
    document = "/api/vault/document?path=zqxada/notes%20%231.md"
    version = eve.get(document).json["version"]
    assert eve.put(document, json={"text": "# Mine\n"}, headers={"If-Match": f'"{version}"'}).status_code == 200
    (agent,) = [each for each in eve.get("/api/agents").json if each["title"] == "zqxadaagent"]
    changed = {"title": "zqxadaagent", "system_prompt": "Mine"}
    assert eve.put(f"/api/agents/{agent['agent_id']}", json=changed).status_code == 200
    (prompt,) = eve.get("/prompts").json
    assert eve.put(f"/prompts/{prompt['prompt_id']}", json={"name": "zqxadaprompt", "text": "Mine"}).status_code == 200
    (claim,) = eve.get("/pkb/claims").json["claims"]
    assert eve.put(f"/pkb/claims/{claim['claim_id']}", json={"statement": "Mine"}).status_code == 200
    (folder,) = [
        each for each in eve.get("/list_workspaces/assistant").json if each["workspace_name"] == "zqxadafolder"
    ]
    eve.post(f"/create_conversation/assistant/{folder['workspace_id']}")
    kept = {each["item"]: each["reason"] for each in taken_back(app, eve, file)}
    assert kept == {
        "zqxada/notes #1.md": say("import_changed_since"),
        "zqxadaagent": say("import_changed_since"),
        "zqxadaprompt": say("import_changed_since"),
        "detail": say("import_changed_since"),
        "memories/memories.json": say("undo_changed_since"),
        "zqxadafolder": say("import_folder_used"),
    }
    assert eve.get("/get_user_detail").json == {"text": "Eve's own"}
    assert eve.get(document).json["text"] == "# Mine\n"
    assert eve.get("/presets").json == []


def folder_of(person: Person, conversation_id: str) -> list[str]:
    """The names of the workspaces that a conversation lies in, from the top down."""
    details = person.get(f"/get_conversation_details/{conversation_id}").json
    path = person.get(f"/get_workspace_path/{details['workspace_id']}").json
    return [each["workspace_name"] for each in path]


def test_folders_come_back_one_in_another_also_empty_ones_and_pins_and_flags(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    def made(person: Person, name: str, parent: str | None = None, color: str = "green") -> str:
        body = {"workspace_color": color, "parent_workspace_id": parent}
        return str(person.post(f"/create_workspace/assistant/{name}", json=body).json["workspace_id"])

    inner = made(ada, "Tomatoes", made(ada, "Garden"), "red")
    made(ada, "Empty")
    conversation_id = ada.post(f"/create_conversation/assistant/{inner}").json["conversation_id"]
    assert ada.put(f"/conversations/{conversation_id}/tags", json={"tags": ["seeds"]}).status_code == 200
    assert ada.put(f"/conversations/{conversation_id}/pin").status_code == 200
    own = made(eve, "Garden", color="blue")
    file = archive_of(app, ada, tmp_path / "everything.zip")
    assert imported(app, eve, file)["failures"] == []
    (listed,) = eve.get("/list_conversation_by_user/assistant").json
    assert (folder_of(eve, listed["conversation_id"]), listed["tags"]) == (["Garden", "Tomatoes"], ["seeds"])
    assert listed["pinned"]
    found = {each["workspace_name"]: each for each in eve.get("/list_workspaces/assistant").json}
    assert sorted(found) == ["Empty", "Garden", "General", "Tomatoes"]
    assert found["Tomatoes"]["parent_workspace_id"] == found["Garden"]["workspace_id"] == own
    assert (found["Garden"]["workspace_color"], found["Tomatoes"]["workspace_color"]) == ("blue", "red")


def test_folders_of_a_domain_without_conversations_come_back(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    above = ada.post("/create_workspace/research/Papers").json["workspace_id"]
    ada.post("/create_workspace/research/leer", json={"parent_workspace_id": above})
    assert imported(app, eve, archive_of(app, ada, tmp_path / "everything.zip"))["failures"] == []
    found = {each["workspace_name"]: each for each in eve.get("/list_workspaces/research").json}
    assert sorted(found) == ["General", "Papers", "leer"]
    assert found["leer"]["parent_workspace_id"] == found["Papers"]["workspace_id"]


NAMES = ["README.MD", "a.md", "a.txt", "b.markdown", "d/only.txt", "x  y.md"]


def texts_of(app: Flask, person: Person) -> dict[str, str]:
    """The texts of a person's documents by path."""
    vault = app.extensions[EXTENSION].vaults.of(person.email)
    list(vault.refresh())
    return {path: text for path, _, text in vault.texts()}


def test_documents_keep_their_paths_and_come_back_into_their_account_without_a_second_copy(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    root = app.extensions[EXTENSION].vaults.of(ada.email).root
    for name in NAMES:
        file = root / name
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(f"zqx {name}\r\nof another program".encode())
    file = archive_of(app, ada, tmp_path / "everything.zip")
    before = texts_of(app, ada)
    assert sorted(before) == NAMES
    came = imported(app, ada, file)
    assert (came["imported"], came["failures"], texts_of(app, ada)) == (0, [], before)
    came = imported(app, eve, file)
    assert (came["imported"], came["failures"], texts_of(app, eve)) == (len(NAMES), [], before)
    assert imported(app, eve, file)["imported"] == 0


def test_another_text_at_the_path_of_a_document_stays_and_the_archives_stands_beside_it(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    for name in NAMES:
        for person in (ada, eve):
            answer = person.put("/api/vault/document", query_string={"path": name}, json={"text": person.email})
            assert answer.status_code == 200
    file = archive_of(app, ada, tmp_path / "everything.zip")
    assert imported(app, eve, file)["failures"] == []
    beside = ["README 2.MD", "a 2.md", "a 2.txt", "b 2.markdown", "d/only 2.txt", "x  y 2.md"]
    both = dict.fromkeys(NAMES, eve.email) | dict.fromkeys(beside, ada.email)
    assert texts_of(app, eve) == both
    assert imported(app, eve, file)["imported"] == 0
    assert texts_of(app, eve) == both


def test_a_document_in_whose_place_a_folder_lies_is_reported_and_all_else_comes_in(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    for person, names in ((ada, ["a.md", "q.md/z.md", "zqx.md"]), (eve, ["a.md/x.md", "q.md"])):
        for name in names:
            answer = person.put("/api/vault/document", query_string={"path": name}, json={"text": person.email})
            assert answer.status_code == 200
    ada.remember("zqx memory")
    came = imported(app, eve, archive_of(app, ada, tmp_path / "everything.zip"))
    assert (came["state"], came["failures"]) == (
        "done",
        [
            {"item": "a.md", "reason": say("document_path_folder")},
            {"item": "q.md/z.md", "reason": say("document_path_through")},
        ],
    )
    assert texts_of(app, eve) == {"a.md/x.md": eve.email, "q.md": eve.email, "zqx.md": ada.email}
    assert [each["statement"] for each in eve.get("/pkb/claims").json["claims"]] == ["zqx memory"]


def test_others_write_while_many_folders_are_made(app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    database = app.extensions[EXTENSION].database
    write, made = database.write, list[int]()

    def noted(job: Callable[[Any], int], **how: Any) -> int:
        made.append(write(job, **how))
        return made[-1]

    monkeypatch.setattr(database, "write", noted)
    wanted = [("assistant", [Folder("Garden"), Folder(f"Bed {number}")]) for number in range(50)]
    assert make_workspaces(wanted, database=database, user_email=ada.email) == 51
    assert made == [21, 20, 10]
    assert make_workspaces(wanted, database=database, user_email=ada.email) == 0


def test_memories_pinned_to_a_conversation_are_pinned_to_it_in_another_account(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    conversation_id = ada.new_conversation()
    claim = ada.remember("zqx is pinned here")
    assert ada.put(f"/pkb/conversation/{conversation_id}/pin", json={"claim_id": claim.claim_id}).status_code == 200
    assert imported(app, eve, archive_of(app, ada, tmp_path / "everything.zip"))["failures"] == []
    (listed,) = eve.get("/list_conversation_by_user/assistant").json
    (pinned,) = eve.get(f"/pkb/conversation/{listed['conversation_id']}/pinned").json["claims"]
    assert (pinned["statement"], pinned["claim_id"] == claim.claim_id) == ("zqx is pinned here", False)


def send_files(person: Person, **files: bytes) -> tuple[str, str]:
    """A message with files; the ids of the conversation and of the question. files: contents, by names without dots."""
    ids = []
    for name, content in files.items():
        sent = person.post(f"/attachments?name={name}.txt", data=content, content_type="application/octet-stream")
        ids.append(sent.json["attachment_id"])
    conversation_id = person.new_conversation()
    person.say(conversation_id, "What do they say?", files=ids)
    return conversation_id, person.get(f"/list_messages_by_conversation/{conversation_id}").json[0]["message_id"]


def packed_again(file: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Pack a ZIP anew with other members. change: the new content of a member, None to leave it out."""
    with zipfile.ZipFile(file) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members:
            if (new := change(name, content)) is not None:
                archive.writestr(name, new)


def files_of(person: Person) -> list[tuple[str, bytes | None]]:
    """Names and contents of the files of the only conversation of a person, in order; None without a content."""
    (listed,) = person.get("/list_conversation_by_user/assistant").json
    message = person.get(f"/list_messages_by_conversation/{listed['conversation_id']}").json[0]
    found: list[tuple[str, bytes | None]] = []
    for part in message["parts"]:
        content = person.get(f"/attachments/{part['attachment_id']}") if "attachment_id" in part else None
        assert content is None or content.status_code == 200
        found.append((part["name"], content and content.get_data()))
    return found


def test_files_of_messages_come_back_in_their_order_and_can_be_named(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, main_model: ScriptedChatModel
) -> None:
    send_files(ada, one=b"zqx first", two=b"zqx second", three=b"zqx first")
    file = archive_of(app, ada, tmp_path / "everything.zip")
    came = imported(app, eve, file)
    assert (came["state"], came["imported"], came["failures"]) == ("done", 1, [])
    assert files_of(eve) == [("one.txt", b"zqx first"), ("two.txt", b"zqx second"), ("three.txt", b"zqx first")]
    state: AppState = app.extensions[EXTENSION]
    stored = state.attachments.list_of(eve.email)
    assert sorted(each.name for each in stored) == ["one.txt", "three.txt", "two.txt"]
    assert len({each.sha256 for each in stored}) == 2
    assert not {each.attachment_id for each in stored} & {
        each.attachment_id for each in state.attachments.list_of(ada.email)
    }
    (listed,) = eve.get("/list_conversation_by_user/assistant").json
    hashed = eve.get(f"/list_messages_by_conversation/{listed['conversation_id']}").json[0]["message_short_hash"]
    name = f"@conversation_{listed['conversation_friendly_id']}_message_{hashed}_file_2"
    eve.say(eve.new_conversation(), f"Look at {name}")
    assert "zqx second" in str(main_model.prompts[-1])
    assert imported(app, eve, file)["failures"] == []
    assert len(state.attachments.list_of(eve.email)) == 3


def test_a_file_that_is_missing_or_changed_is_reported_and_its_name_stays(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    send_files(ada, kept=b"zqx kept", gone=b"zqx gone", other=b"zqx other")
    file = archive_of(app, ada, tmp_path / "everything.zip")

    def change(name: str, content: bytes) -> bytes | None:
        return None if name.endswith("gone.txt") else b"changed" if name.endswith("other.txt") else content

    packed_again(file, change)
    came = imported(app, eve, file)
    assert (came["state"], came["imported"]) == ("done", 1)
    assert [(each["item"].rpartition(": ")[2], each["reason"]) for each in came["failures"]] == [
        ("gone.txt", say("import_file_not_there")),
        ("other.txt", say("import_file_changed")),
    ]
    assert files_of(eve) == [("kept.txt", b"zqx kept"), ("gone.txt", None), ("other.txt", None)]


def test_a_file_beyond_the_quota_is_reported(app: Flask, ada: Person, eve: Person, tmp_path: Path) -> None:
    send_files(ada, large=b"x" * 600_000, small=b"zqx small")
    file = archive_of(app, ada, tmp_path / "everything.zip")
    state: AppState = app.extensions[EXTENSION]
    app.extensions[EXTENSION] = replace(state, attachments=replace(state.attachments, quota=0))
    came = imported(app, eve, file)
    assert {each["reason"] for each in came["failures"]} == {say("file_quota_used_up", megabytes=0)}
    assert files_of(eve) == [("large.txt", None), ("small.txt", None)]


def test_an_export_that_names_a_file_of_somebody_else_gets_nothing_of_it(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    conversation_id, _ = send_files(ada, secret=b"zqx secret")
    file = tmp_path / "talk.json"
    file.write_bytes(ada.get(f"/export_conversation/{conversation_id}?format=json").get_data())
    came = imported(app, eve, file)
    assert [each["reason"] for each in came["failures"]] == [say("import_file_not_there")]
    assert files_of(eve) == [("secret.txt", None)]


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


def agent_of(person: Person, title: str) -> str | None:
    """The slug of the agent that answers in the conversation with this title."""
    listed = person.get("/list_conversation_by_user/assistant").json
    (conversation_id,) = [each["conversation_id"] for each in listed if each["title"] == title]
    state: AppState = person.client.application.extensions[EXTENSION]
    row = get_conversation(database=state.database, user_email=person.email, conversation_id=conversation_id)
    slugs = {each["agent_id"]: each["slug"] for each in person.get("/api/agents").json}
    return None if row.agent_id is None else str(slugs[row.agent_id])


def with_agents(person: Person) -> dict[str, str]:
    """Conversations in which an agent of the person's and the Global Assistant answer: their ids by title."""
    person.post("/api/agents", json={"title": "Cook", "system_prompt": "You cook."})
    rooms: dict[str, str] = {}
    for title, agent in (("Soup", "cook"), ("Anything", "global_assistant")):
        rooms[title] = person.new_conversation()
        person.say(rooms[title], f"What of {title}?")
        person.put(f"/conversations/{rooms[title]}/title", json={"title": title})
        assert person.put(f"/conversations/{rooms[title]}/agent", json={"agent": agent}).status_code == 200
    return rooms


def test_agents_answer_again_in_the_conversations_of_an_archive(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    with_agents(ada)
    file = archive_of(app, ada, tmp_path / "everything.zip")
    assert imported(app, eve, file)["failures"] == []
    assert (agent_of(eve, "Soup"), agent_of(eve, "Anything")) == ("cook", "global_assistant")
    theirs = {each["agent_id"] for person in (ada, eve) for each in person.get("/api/agents").json}
    assert len(theirs) == 4


def test_the_export_of_a_conversation_names_its_agent_which_answers_where_the_person_has_it(
    app: Flask, person: Callable[[str], Person], ada: Person, eve: Person, tmp_path: Path
) -> None:
    rooms = with_agents(ada)
    for title, room in rooms.items():
        (tmp_path / f"{title}.json").write_bytes(ada.get(f"/export_conversation/{room}?format=json").get_data())
    (told,) = imported(app, eve, tmp_path / "Soup.json")["failures"]
    reason = "You have no agent “cook”, which answered in it, so your own model answers."
    assert told == {"item": "Soup", "reason": reason}
    assert agent_of(eve, "Soup") is None
    bob = person("bob@example.org")
    bob.post("/api/agents", json={"title": "Cook", "system_prompt": "Mine."})
    for title in rooms:
        assert imported(app, bob, tmp_path / f"{title}.json")["failures"] == []
    assert (agent_of(bob, "Soup"), agent_of(bob, "Anything")) == ("cook", "global_assistant")


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
        ImportedPart("settings.json", {}),
        FailedItem("documents/a.md", "The document is not UTF-8."),
        FailedItem("memories/memories.json", "memories/memories.json holds no JSON object."),
    ]


def test_an_archive_of_a_later_schema_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "everything.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", json.dumps({"format": "anaphora-account", "schema": 3}))
    with ImportFile(file) as opened, pytest.raises(BrokenImportError, match="the schema 3"):
        list(importer_for(opened).conversations(opened))


ANSWERED = {
    "Where does the castle stand?": None,
    "Which castle?": None,
    "It is forty-two.": None,
    "On a hill.": "Where does the castle stand?",
    "On which?": "On a hill.",
}


def answered_across(person: Person) -> tuple[str, str]:
    """Two conversations of a person, by their names; the second answers the first, and the first answers that."""
    names = []
    rooms = [person.new_conversation() for _ in range(2)]
    for room in rooms:
        person.say(room, "Where does the castle stand?" if room == rooms[0] else "Which castle?")
        names.append(person.get(f"/get_conversation_details/{room}").json["conversation_friendly_id"])
    first = person.get(f"/list_messages_by_conversation/{rooms[0]}").json[0]["message_id"]
    for room, text in zip(rooms[::-1], ("On a hill.", "On which?"), strict=True):
        reply = {"type": "chat_message", "payload": {"text": text}, "reply_to": first}
        answer = person.post(f"/api/conversations/{room}/activities", json=reply)
        assert answer.status_code == 201, answer.text
        first = answer.json["id"]
    return names[0], names[1]


def told_of(person: Person, names: tuple[str, ...]) -> tuple[dict[str, str | None], set[str]]:
    """What each activity of these conversations answers, and how their threads begin, all by their texts."""
    query = {"format": "json", "include": "chat"}
    told = [person.get("/api/export", query_string={"room": name, **query}).json for name in names]
    waiting, texts, answered = [each for one in told for each in one["activities"]], {None: None}, {}
    while waiting:
        each = waiting.pop()
        waiting += each["replies"]
        texts[each["id"]] = each["content"]
        answered[each["content"]] = each["reply_to_id"]
    roots = {texts[thread["root_activity_id"]] for one in told for thread in one["threads"]}
    return {text: texts[other] for text, other in answered.items()}, roots


@pytest.mark.parametrize("is_reversed", [False, True])
def test_conversations_that_answer_each_other_come_in_whole_in_any_order(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, is_reversed: bool
) -> None:
    names = answered_across(ada)
    made, file = archive_of(app, ada, tmp_path / "made.zip"), tmp_path / "ada.zip"
    with zipfile.ZipFile(made) as former, zipfile.ZipFile(file, "w") as archive:
        sorted_names = sorted(former.namelist(), key=lambda name: (names[0] in name) != is_reversed)
        for name in ["manifest.json", *(each for each in sorted_names if each != "manifest.json")]:
            archive.writestr(name, former.read(name))
    came = imported(app, eve, file)
    assert (came["state"], came["imported"], came["failures"]) == ("done", 2, [])
    assert told_of(eve, names) == told_of(ada, names) == (ANSWERED, {"Where does the castle stand?"})
    assert imported(app, eve, file)["imported"] == 0


def test_one_of_two_conversations_that_answer_each_other_comes_back_from_the_archive(
    app: Flask, ada: Person, tmp_path: Path
) -> None:
    names = answered_across(ada)
    file = archive_of(app, ada, tmp_path / "ada.zip")
    room = ada.get(f"/api/export?room={names[0]}&format=json").json["conversation"]["conversation_id"]
    assert ada.delete(f"/delete_conversation/{room}").status_code < 300
    assert ada.delete(f"/bin/{room}").status_code < 300
    came = imported(app, ada, file)
    assert (came["state"], came["imported"], came["failures"]) == ("done", 1, [])
    assert told_of(ada, names) == (ANSWERED, {"Where does the castle stand?"})


def happens(person: Person, conversation_id: str, text: str, **more: str) -> str:
    event = {"recipe": "system-monitoring", "type": "system_event", "payload": {"description": text}, **more}
    made = person.post(f"/api/conversations/{conversation_id}/activities", json=event)
    assert made.status_code == 201, made.get_data(as_text=True)
    return str(made.json["short_id"])


def recipe_of(person: Person, file: Path) -> Path:
    file.write_bytes(person.get("/api/export?recipe=system-monitoring&format=json").get_data())
    return file


def happened(person: Person) -> list[str]:
    found = person.get("/api/export?recipe=system-monitoring&format=json").json["activities"]
    return sorted(re.findall(r'"description": ?"([^"]+)"', json.dumps(found)))


def test_what_is_new_of_a_recipe_comes_to_what_is_here_and_can_be_taken_back(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    first, second = ada.new_conversation(), ada.new_conversation()
    leak = happens(ada, first, "A leak")
    came = imported(app, eve, recipe_of(ada, tmp_path / "first.json"))
    assert (came["imported"], came["failures"], happened(eve)) == (1, [], ["A leak"])
    happens(ada, first, "It was mended", reply_to=leak)
    happens(ada, second, "A light is out")
    came = imported(app, eve, recipe_of(ada, tmp_path / "more.json"))
    assert (came["imported"], came["updated"], came["failures"]) == (1, 1, [])
    assert happened(eve) == ["A leak", "A light is out", "It was mended"]
    assert len(eve.get("/list_conversation_by_user/assistant").json) == 2
    again = imported(app, eve, recipe_of(ada, tmp_path / "again.json"))
    assert (again["imported"], again["updated"], again["skipped"], again["failures"]) == (0, 0, 1, [])
    assert taken_back(app, eve, tmp_path / "more.json", nth=1) == []
    assert happened(eve) == ["A leak"]


def test_a_conversation_in_the_bin_keeps_nothing_else_of_a_recipe_out(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    live, binned = ada.new_conversation(), ada.new_conversation()
    ada.put(f"/conversations/{binned}/title", json={"title": "Lights"})
    leak, light = happens(ada, live, "A leak"), happens(ada, binned, "A light is out")
    assert imported(app, eve, recipe_of(ada, tmp_path / "first.json"))["imported"] == 2
    here = eve.get("/api/export?recipe=system-monitoring&format=json").json["activities"]
    (there,) = [each["conversation_id"] for each in here if "A light is out" in json.dumps(each)]
    assert eve.delete(f"/delete_conversation/{there}").status_code < 300

    happens(ada, live, "It was mended", reply_to=leak)
    happens(ada, live, "That was because of the leak", reply_to=happens(ada, binned, "It is on", reply_to=light))
    told = ("Lights", str(say("import_in_bin", count=2)))
    came = imported(app, eve, recipe_of(ada, tmp_path / "more.json"))
    unlinked = str(say("import_references_dropped", count=1))
    assert (came["imported"], came["updated"]) == (0, 1)
    assert [(each["item"], each["reason"]) for each in came["failures"]] == [told, (ANY, unlinked)]
    assert happened(eve) == ["A leak", "It was mended", "That was because of the leak"]
    again = imported(app, eve, recipe_of(ada, tmp_path / "again.json"))
    assert (again["imported"], again["updated"]) == (0, 0)
    assert [(each["item"], each["reason"]) for each in again["failures"]] == [told]

    assert eve.post(f"/restore_conversation/{there}").status_code < 300
    came = imported(app, eve, recipe_of(ada, tmp_path / "restored.json"))
    assert (came["imported"], came["updated"], came["failures"]) == (0, 2, [])
    assert happened(eve) == ["A leak", "A light is out", "It is on", "It was mended", "That was because of the leak"]


def test_what_overlaps_with_what_is_here_or_in_the_bin_is_told(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    room = ada.new_conversation()
    ada.say(room, "Where does the castle stand?")
    last = ada.get(f"/list_messages_by_conversation/{room}").json[-1]["message_id"]
    file, more = tmp_path / "room.json", tmp_path / "more.json"
    file.write_bytes(ada.get(f"/api/export?room={room}&format=json").get_data())
    assert imported(app, eve, file)["imported"] == 1
    ada.say(room, "On which hill?")
    more.write_bytes(ada.get(f"/api/export?room={room}&format=json&after={last}").get_data())
    came = imported(app, eve, more)
    (failure,) = came["failures"]
    assert (came["imported"], came["updated"], failure["reason"]) == (0, 0, str(say("import_overlaps", count=2)))
    assert imported(app, eve, file)["failures"] == []
    assert ada.delete(f"/delete_conversation/{room}").status_code < 300
    (failure,) = imported(app, ada, file)["failures"]
    assert failure["reason"] == str(say("import_in_bin", count=2))


def test_what_happened_beside_the_conversations_comes_along_with_the_threads_that_begin_there(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    ada.put("/api/vault/document?path=plan.md", json={"text": "# Plan\n"})
    ada.remember("I grow tomatoes")

    def beside(person: Person) -> dict[str, dict[str, Any]]:
        """The activities beside the conversations that this person has, by their ids."""
        database = app.extensions[EXTENSION].database
        rooms = [f"{person.email}_documents", f"{person.email}_knowledge"]
        with database.reading() as connection:
            found = connection.execute(select(activities).where(activities.c.conversation_id.in_(rooms))).mappings()
            return {each["activity_id"]: dict(each) for each in found}

    (written,) = [each for each in beside(ada).values() if each["type"] == "document_write"]
    room = ada.new_conversation()
    told = {"messageText": "Why did I write this?", "reply_to": written["activity_id"]}
    assert ada.post(f"/send_message/{room}", json=told).status_code == 200
    file = archive_of(app, ada, tmp_path / "everything.zip")
    came = imported(app, eve, file)
    assert (came["state"], came["failures"]) == ("done", [])

    there = [each for each in beside(eve).values() if each["created_at"] == written["created_at"]]
    assert [(each["type"], each["payload"]["path"], each["actor_id"]) for each in there] == [
        ("document_write", "plan.md", eve.email)
    ]
    with app.extensions[EXTENSION].database.reading() as connection:
        replies = select(activities.c.reply_to_id).where(
            activities.c.user_email == eve.email, activities.c.reply_to_id.is_not(None)
        )
        assert there[0]["activity_id"] in connection.execute(replies).scalars().all()
    again = imported(app, eve, file)
    assert (again["imported"], again["updated"], again["failures"]) == (0, 0, [])
    assert len([each for each in beside(eve).values() if each["created_at"] == written["created_at"]]) == 1
