"""Everything of one person's in one ZIP: over HTTP, on the command line, streamed, and nobody else's."""

from __future__ import annotations

import io
import json
import re
import resource
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from flask import Flask

from activity.export import INCLUDED, whole_conversation
from benchmarks.made_up.history import SeedPlan, seed
from database.conversations.overview import all_conversations, count_conversations
from endpoints.export.views import account_source
from endpoints.http.scope import EXTENSION, AppState
from portability.account_archive import account_archive
from portability.archived_files import ArchivedFile
from tests.database.conftest import statements
from tests.endpoints.conftest import Person, refused

__all__ = ["statements"]
pytestmark = pytest.mark.contract


def fill(person: Person, mark: str) -> str:
    """Something of every kind with `mark` in it; the friendly id of its conversation."""
    workspace = person.post(f"/create_workspace/assistant/{mark}folder", json={}).json["workspace_id"]
    conversation_id = person.post(f"/create_conversation/assistant/{workspace}").json["conversation_id"]
    person.say(conversation_id, f"{mark} & <b>how much water?</b>")
    person.put(f"/conversations/{conversation_id}/title", json={"title": f"{mark} <Tomatoes>"})
    event = {"recipe": "system-monitoring", "type": "system_event", "payload": {"description": f"{mark}event"}}
    assert person.post(f"/api/conversations/{conversation_id}/activities", json=event).status_code == 201
    person.remember(f"{mark} memory")
    person.put(f"/api/vault/document?path={mark}/notes%20%231.md", json={"text": f"# {mark} notes\n"})
    person.post("/modify_user_detail", json={"text": f"{mark}detail"})
    person.post("/api/agents", json={"title": f"{mark}agent", "system_prompt": f"{mark}instructions"})
    person.post("/presets", json={"name": f"{mark}preset", "system_prompt": f"{mark}preset"})
    person.post("/prompts", json={"name": f"{mark}prompt", "text": f"{mark}text"})
    return str(person.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"])


def archive_of(person: Person) -> zipfile.ZipFile:
    answer = person.get("/export_account")
    assert (answer.status_code, answer.mimetype) == (200, "application/zip")
    assert re.search(r'attachment; filename="anaphora-.+-\d{4}-\d\d-\d\d\.zip"', answer.headers["Content-Disposition"])
    archive = zipfile.ZipFile(io.BytesIO(answer.data))
    assert archive.testzip() is None
    return archive


def text_of(archive: zipfile.ZipFile, name: str) -> str:
    return archive.read(name).decode()


def test_the_archive_holds_everything_of_the_person_and_nothing_of_anybody_else(ada: Person, eve: Person) -> None:
    friendly_id = fill(ada, "zqxada")
    fill(eve, "zqxeve")
    archive = archive_of(ada)
    stem = f"conversations/{friendly_id}"
    assert {
        "manifest.json",
        "index.html",
        f"{stem}.html",
        f"{stem}.md",
        f"{stem}.json",
        "activities/documents.json",
        "memories/memories.json",
        "memories/memories.md",
        "documents/zqxada/notes #1.md",
        "settings.json",
    } == set(archive.namelist())
    manifest = json.loads(text_of(archive, "manifest.json"))
    assert (manifest["format"], manifest["schema"], manifest["account"]) == ("anaphora-account", 2, ada.email)
    assert "zqxadaevent" in text_of(archive, f"{stem}.md")
    whole = json.loads(text_of(archive, f"{stem}.json"))
    assert whole["count"] == 3
    alone = {"room": whole["conversation"]["conversation_id"], "include": ",".join(INCLUDED)}
    for fmt, extension in (("html", "html"), ("markdown", "md")):
        assert ada.get("/api/export", query_string={**alone, "format": fmt}).text == text_of(
            archive, f"{stem}.{extension}"
        )
    again = ada.get("/api/export", query_string={**alone, "format": "json"}).json
    assert {**again, "exported_at": 0} == {**whole, "exported_at": 0}
    assert "zqxada memory" in text_of(archive, "memories/memories.md")
    assert text_of(archive, "documents/zqxada/notes #1.md") == "# zqxada notes\n"
    settings = json.loads(text_of(archive, "settings.json"))
    assert settings["detail"] == {"text": "zqxadadetail"}
    assert [each["name"] for each in settings["presets"] + settings["prompts"]] == ["zqxadapreset", "zqxadaprompt"]
    assert "zqxadaagent" in [each["title"] for each in settings["agents"]]
    for name in archive.namelist():
        content = name.encode() + archive.read(name)
        assert b"zqxeve" not in content, name
        assert eve.email.encode() not in content, name


def test_the_index_links_every_file_without_scripts_or_requests(ada: Person) -> None:
    fill(ada, "zqxada")
    sent = ada.post("/attachments?name=a%20%231%20%3Cb%3E.txt", data=b"a", content_type="application/octet-stream")
    assert sent.status_code == 201
    archive = archive_of(ada)
    index = text_of(archive, "index.html")
    links = [unquote(link) for link in re.findall(r'href="([^"]+)"', index)]
    assert set(links) == set(archive.namelist()) - {"index.html", "manifest.json"}
    assert "zqxada &lt;Tomatoes&gt;" in index
    assert ">a #1 &lt;b&gt;.txt</a>" in index
    assert "<h2>zqxadafolder</h2>" in index
    assert not re.search(r"<script|src=|https?:", index)


def test_the_pages_are_in_the_language_of_the_account_else_of_the_browser(ada: Person) -> None:
    friendly_id = fill(ada, "zqxada")
    asked = ada.get("/export_account", headers={"Accept-Language": "es"})
    archive = zipfile.ZipFile(io.BytesIO(asked.data))
    index, page = (text_of(archive, name) for name in ("index.html", f"conversations/{friendly_id}.html"))
    assert ('<html lang="es">' in index, '<html lang="es">' in page) == (True, True)
    assert "<dt>Creada</dt>" in page
    assert "<footer>Mensajes: 2, otras actividades: 1</footer>" in page
    assert "Messages: 2, other activities: 1" in text_of(archive, f"conversations/{friendly_id}.md")
    assert "Conversaciones: 1. Documentos: 1. Archivos de mensajes: 0." in index
    assert ada.put("/language", json={"language": "de"}).status_code == 200
    index = text_of(archive_of(ada), "index.html")
    assert '<html lang="de">' in index
    assert "<th>Titel<th>Nachrichten<th>Zuletzt ge\u00e4ndert<th>Andere Formen" in index
    assert 'content: "Nachrichten" ": "' in index
    assert "<h2>Erinnerungen</h2>" in index
    page = ada.get(f"/api/export?format=html&room={friendly_id}", headers={"Accept-Language": "es"}).text
    assert "<footer>Nachrichten: 2</footer>" in page


def test_keys_of_tool_servers_stay_here(app: Flask, ada: Person) -> None:
    server = {"name": "notes", "url": "http://127.0.0.1:9/mcp", "headers": {"X-Key": "zqxsecret"}}
    state: AppState = app.extensions[EXTENSION]
    state.tool_servers._reach = "private"
    assert state.tool_servers.add(ada.email, **server).name == "notes"
    archive = archive_of(ada)
    assert json.loads(text_of(archive, "settings.json"))["tool_servers"] == [
        {"name": "notes", "url": server["url"], "headers": ["X-Key"], "is_on": True}
    ]
    assert all(b"zqxsecret" not in archive.read(name) for name in archive.namelist())


def test_conversations_are_read_one_by_one_while_the_archive_is_sent(
    app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 60 conversations, as many are read as were asked for by the receiver, and the rest by nobody."""
    with app.app_context():
        source = account_source(ada.email)
    plan = SeedPlan(conversations=60, messages=240, chars=2_000)
    for _ in seed(database=source.database, user_email=ada.email, plan=plan):
        pass
    own: dict[str, Any] = {"database": source.database, "user_email": ada.email}
    assert count_conversations(**own) == len(list(all_conversations(**own))) == 60
    begun: list[str] = []

    def counted(*args: Any, **more: Any) -> Any:
        begun.append(args[1])
        return whole_conversation(*args, **more)

    monkeypatch.setattr("portability.account_archive.whole_conversation", counted)
    seen: list[tuple[int, int]] = []
    pieces = account_archive(source, progress=lambda *counts: seen.append(counts))
    next(pieces)
    assert begun == []
    largest = sent = 0
    for piece in pieces:
        sent, largest = sent + len(piece), max(largest, len(piece))
        assert len(set(begun)) <= len(seen) + 1
    assert seen == [(done, 60) for done in range(1, 61)]
    assert largest <= 128 * 1024 < sent


@pytest.mark.only_sqlite
def test_conversations_are_read_by_connections_that_map_nothing_of_the_store(
    app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ada, "zqxada")
    mapped: list[int] = []

    def asked(*args: Any, **more: Any) -> Any:
        with more["database"].reading() as connection:
            mapped.append(connection.exec_driver_sql("PRAGMA mmap_size").scalar_one())
        return whole_conversation(*args, **more)

    monkeypatch.setattr("portability.account_archive.whole_conversation", asked)
    archive_of(ada)
    assert mapped == [0]


def test_a_conversation_is_read_once_for_all_its_forms(
    app: Flask, ada: Person, eve: Person, statements: Callable[[], AbstractContextManager[list[str]]]
) -> None:
    """Ten conversations more take sixty statements more, however long they are."""

    def asked(person: Person, *, conversations: int, messages: int) -> int:
        with app.app_context():
            source = account_source(person.email)
        plan = SeedPlan(conversations=conversations, messages=messages, chars=100)
        for _ in seed(database=source.database, user_email=person.email, plan=plan):
            pass
        with statements() as seen:
            for _ in account_archive(source):
                pass
        return len(seen)

    few = asked(ada, conversations=10, messages=40)
    assert asked(eve, conversations=20, messages=800) - few <= 60


@pytest.mark.proof
@pytest.mark.only_sqlite
def test_ten_thousand_conversations_are_sent_in_bounded_memory(app: Flask, ada: Person) -> None:
    with app.app_context():
        source = account_source(ada.email)
    plan = SeedPlan(conversations=10_000, messages=40_000, chars=560)
    for _ in seed(database=source.database, user_email=ada.email, plan=plan):
        pass
    megabytes: dict[int, float] = {}

    def note(done: int, _total: int) -> None:
        megabytes[done] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    assert sum(map(len, account_archive(source, progress=note))) > 10_000_000
    # The directory of the ZIP and the list of the index grow by some 2.5 KB a conversation.
    assert megabytes[10_000] - megabytes[500] <= 48


def test_what_is_deleted_while_the_archive_is_made_is_left_out_whole(app: Flask, ada: Person) -> None:
    kept, deleted = sorted([ada.new_conversation(), ada.new_conversation()])
    with app.app_context():
        source = account_source(ada.email)

    def delete(done: int, _total: int) -> None:
        if done == 1:
            assert ada.delete(f"/delete_conversation/{deleted}").status_code == 200

    archive = zipfile.ZipFile(io.BytesIO(b"".join(account_archive(source, progress=delete))))
    pages = [name for name in archive.namelist() if name.startswith("conversations/")]
    assert len(pages) == 3
    assert {name.split("/")[1].split(".")[0] for name in pages} == {kept.rpartition("_")[2]}


def test_files_of_messages_come_along(app: Flask, ada: Person) -> None:
    def files() -> Iterator[ArchivedFile]:
        yield ArchivedFile(path="attachments/report.pdf", chunks=[b"%PDF", b"-1.7"])

    with app.app_context():
        source = replace(account_source(ada.email), attachments=files())
    archive = zipfile.ZipFile(io.BytesIO(b"".join(account_archive(source))))
    assert archive.read("attachments/report.pdf") == b"%PDF-1.7"
    assert "Files of messages: 1" in text_of(archive, "index.html")


def test_the_files_of_messages_are_in_it(ada: Person, eve: Person) -> None:
    for person, text in ((ada, b"zqxada"), (eve, b"zqxeve")):
        sent = person.post("/attachments?name=notes.txt", data=text, content_type="application/octet-stream")
        assert sent.status_code == 201
    archive = archive_of(ada)
    (name,) = [name for name in archive.namelist() if name.startswith("attachments/")]
    assert (name.endswith("/notes.txt"), archive.read(name)) == (True, b"zqxada")


def test_the_command_writes_the_archive_whole_and_replaces_nothing_unasked(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    friendly_id = fill(ada, "zqxada")
    runner = app.test_cli_runner()
    file = tmp_path / "ada.zip"
    done = runner.invoke(args=["data", "export", str(file), "--email", ada.email])
    assert (done.exit_code, f"{file} holds everything of {ada.email}" in done.output) == (0, True), done.output
    assert f"conversations/{friendly_id}.md" in zipfile.ZipFile(file).namelist()
    assert file.stat().st_mode & 0o077 == 0
    again = runner.invoke(args=["data", "export", str(file), "--email", ada.email])
    assert (again.exit_code, "--force" in again.output) == (2, True)
    assert runner.invoke(args=["data", "export", str(file), "--email", eve.email, "--force"]).exit_code == 0
    assert not [name for name in zipfile.ZipFile(file).namelist() if name.startswith("conversations/")]
    assert [each.name for each in tmp_path.iterdir() if each.is_file() and each.suffix == ".zip"] == ["ada.zip"]
    nowhere = tmp_path / "no" / "a.zip"
    refused_there = runner.invoke(args=["data", "export", str(nowhere), "--email", ada.email])
    assert (refused_there.exit_code, refused_there.output) == (1, f"Error: There is no folder {nowhere.parent}.\n")


def test_nobody_gets_an_archive_without_logging_in(app: Flask) -> None:
    assert refused(app.test_client().get("/export_account")) == (401, "unauthorized")
