"""The files of messages leave with exports and bundles, and come in again with them."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from flask import Flask

from Conversation import Conversation
from language_models.testing import ScriptedChatModel
from tests.attachments.made_files import pdf_of
from tests.endpoints.conftest import Person
from tests.endpoints.export.test_archive_imported import archive_of, files_of, imported, send_files

pytestmark = pytest.mark.contract
CONTENT = b"zqx first\r\nsecond"
LINK = {"html": re.compile(r'<a href="([^"]+)">File: '), "markdown": re.compile(r"\[\*File: .+\*\]\(<(.+)>\)")}


def exported(person: Person, conversation_id: str, fmt: str) -> zipfile.ZipFile:
    answer = person.get(f"/export_conversation/{conversation_id}?format={fmt}&files=true")
    assert (answer.status_code, answer.mimetype) == (200, "application/zip")
    return zipfile.ZipFile(io.BytesIO(answer.data))


def send_named(person: Person, name: str) -> str:
    """A conversation whose first message has a file that is called so."""
    sent = person.post(f"/attachments?name={quote(name)}", data=CONTENT, content_type="application/octet-stream")
    conversation_id = person.new_conversation()
    person.say(conversation_id, "What does it say?", files=[sent.json["attachment_id"]])
    return conversation_id


@pytest.mark.parametrize("fmt", LINK)
@pytest.mark.parametrize(
    ("name", "called"), [("notes.txt", "notes.txt"), ("a (1) 100% <b>\"#?'é.txt", "a (1) 100% _b__#_'é.txt")]
)
def test_documents_link_to_the_files_beside_them(ada: Person, fmt: str, name: str, called: str) -> None:
    archive = exported(ada, send_named(ada, name), fmt)
    (document, file) = archive.namelist()
    (link,) = LINK[fmt].findall(archive.read(document).decode())
    assert unquote(link) == file
    assert file.rpartition("/")[2] == called
    assert archive.read(file) == CONTENT


ACTIVE = b"<!doctype html><script>document.title = 'zqx ran'</script>"
NAMES = {
    "page.html": ACTIVE,
    "Drawing.SVG": b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
    "page.html.txt": b"zqx as text",
    'a"b<i>.txt': b"zqx quoted",
    "a_b_i_.txt": b"zqx not quoted",
    "A_B_I_.txt": b"zqx loud",
    "CON.txt": b"zqx device",
    "ends. .": b"zqx ends",
}


@pytest.mark.parametrize("fmt", ["json", "bundle", "account"])
def test_names_that_do_not_unpack_everywhere_and_pages_that_would_run_come_back_as_they_were(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, fmt: str
) -> None:
    conversation_id = ada.new_conversation()
    octets = {"content_type": "application/octet-stream"}
    sent = [ada.post(f"/attachments?name={quote(name)}", data=content, **octets) for name, content in NAMES.items()]
    ada.say(conversation_id, "What do they say?", files=[each.json["attachment_id"] for each in sent])
    file = tmp_path / "talk.zip"
    if fmt == "account":
        archive_of(app, ada, file)
    else:
        file.write_bytes(ada.get(f"/export_conversation/{conversation_id}?format={fmt}&files=true").data)
    with zipfile.ZipFile(file) as archive:
        places = [name for name in archive.namelist() if "attachments/" in name]
        index = archive.read("index.html").decode() if fmt == "account" else ""
    assert len({each.lower() for each in places}) == len(NAMES)
    assert {re.split(r"[./]", each)[-1] for each in places} == {"txt", "ends"}
    assert set(re.findall(r'href="(attachments/[^"]+)"', index)) == {quote(each) for each in places if index}
    assert ("page.html</a> (page.html.txt)" in index) == ("they open as text" in index) == (fmt == "account")

    assert imported(app, eve, file)["failures"] == []
    assert sorted(files_of(eve)) == sorted(NAMES.items())


def test_the_pages_of_an_account_archive_link_to_its_files(app: Flask, ada: Person, tmp_path: Path) -> None:
    send_files(ada, one=CONTENT)
    with zipfile.ZipFile(archive_of(app, ada, tmp_path / "everything.zip")) as archive:
        (page,) = [name for name in archive.namelist() if re.fullmatch(r"conversations/.+\.html", name)]
        (link,) = LINK["html"].findall(archive.read(page).decode())
        assert archive.read(link.removeprefix("../")) == CONTENT


@pytest.mark.parametrize("fmt", ["json", "bundle"])
def test_json_and_bundles_bring_the_files_into_another_account(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, fmt: str
) -> None:
    conversation_id, _ = send_files(ada, one=CONTENT, two=b"zqx second")
    file = tmp_path / "talk.zip"
    answer = ada.get(f"/export_conversation/{conversation_id}?format={fmt}&files=true")
    file.write_bytes(answer.data)
    came = imported(app, eve, file)
    assert (came["state"], came["imported"], came["failures"]) == ("done", 1, [])
    assert files_of(eve) == [("one.txt", CONTENT), ("two.txt", b"zqx second")]


@pytest.mark.parametrize("fmt", ["json", "bundle", "account"])
def test_references_to_pages_of_a_file_resolve_where_it_was_imported(
    app: Flask, ada: Person, eve: Person, main_model: ScriptedChatModel, tmp_path: Path, fmt: str
) -> None:
    pages = [f"zqx page {number}" for number in range(1, 6)]
    sent = ada.post("/attachments?name=r.pdf", data=pdf_of(pages), content_type="application/octet-stream")
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Read this", files=[sent.json["attachment_id"]])
    friendly_id = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    message = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[0]["message_short_hash"]
    file = tmp_path / "talk.zip"
    if fmt == "account":
        archive_of(app, ada, file)
    else:
        file.write_bytes(ada.get(f"/export_conversation/{conversation_id}?format={fmt}&files=true").data)
    assert imported(app, eve, file)["failures"] == []
    reference = f"@conversation_{friendly_id}_message_{message}_file_1_pages_3-4"
    for person in (ada, eve):
        person.say(person.new_conversation(), f"Compare {reference} please")
    asked_ada, asked_eve = (prompt[-1]["content"] for prompt in main_model.prompts[-2:])
    assert f'source="referenced" type="file" ref="{reference}"' in asked_eve
    assert [page for page in pages if page in asked_eve] == pages[2:4]
    assert asked_eve == asked_ada


def test_without_files_the_document_comes_alone_and_says_how_to_get_them(ada: Person) -> None:
    conversation_id, _ = send_files(ada, one=CONTENT)
    (part,) = ada.get(f"/export_conversation/{conversation_id}?format=json").json["activities"][0]["message"]["parts"]
    assert part["name"] == "one.txt"
    assert len(part["sha256"]) == 64
    assert ada.get(f"/attachments/{part['attachment_id']}").data == CONTENT
    page = ada.get(f"/export_conversation/{conversation_id}?format=html").get_data(as_text=True)
    assert "File: one.txt" in page
    assert not LINK["html"].findall(page)


def test_a_conversation_without_files_is_the_same_file_with_files_asked_for(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "No file")
    answers = [ada.get(f"/export_conversation/{conversation_id}?format=markdown{more}") for more in ("", "&files=true")]
    assert answers[0].data == answers[1].data
    assert answers[1].mimetype == "text/markdown"


def test_a_file_whose_message_is_deleted_is_not_taken_along(ada: Person) -> None:
    conversation_id, message_id = send_files(ada, gone=b"zqx gone")
    assert ada.delete(f"/delete_message_from_conversation/{conversation_id}/{message_id}/1").status_code == 200
    archive = zipfile.ZipFile(io.BytesIO(ada.get(f"/export_conversation/{conversation_id}?format=bundle").data))
    assert [name for name in archive.namelist() if "attachments" in name] == []


def test_a_bundle_that_is_opened_and_saved_elsewhere_keeps_its_files_and_none_from_outside(
    ada: Person, tmp_path: Path
) -> None:
    conversation_id, _ = send_files(ada, one=CONTENT)
    exported(ada, conversation_id, "bundle").extractall(tmp_path)
    folder = tmp_path / conversation_id
    (part,) = json.loads((folder / f"{conversation_id}-messages.json").read_text())[0]["parts"]
    secret = tmp_path / "secret"
    secret.write_bytes(b"zqx secret")
    (folder / "attachments" / part["attachment_id"] / "link.txt").symlink_to(secret)
    (folder / "attachments" / "of no message").mkdir()
    (folder / "attachments" / "of no message" / "x.txt").write_bytes(b"zqx stray")
    Conversation.load_local(folder).save_local(tmp_path / "again")
    kept = {path.name: path.read_bytes() for path in (tmp_path / "again" / "attachments").rglob("*") if path.is_file()}
    assert kept == {"one.txt": CONTENT}
