"""Files in messages over HTTP: uploaded, served, given to the model, named in later messages."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from PIL import Image

from attachments.passages import index_pending
from attachments.storage import Attachments
from chat.exchange.files import AttachedFiles, files_of_message
from chat.exchange.report import ReportEntry
from chat.prompting.items import merge
from database.conversations.deletion import purge_bin
from endpoints.attachments.models import FileOfConversation
from endpoints.http.scope import EXTENSION
from endpoints.search.models import FileResult, SearchResults
from language_models.testing import Reply, ScriptedChatModel
from sentences import say
from settings import Settings, load_settings
from tests.attachments.made_files import docx_of, pdf_of, picture_of
from tests.endpoints.conftest import Person, refused, told

pytestmark = pytest.mark.contract
PAGES = [f"Page {number} tells of the {number * 7} lighthouses." for number in range(1, 101)]


@pytest.fixture
def settings(tmp_path: Path, database_url: str | None) -> Settings:
    environ = {"ANAPHORA_DATA_DIR": str(tmp_path), "ANAPHORA_MAIN_MODEL": "none", "ANAPHORA_CHEAP_MODEL": "none"}
    limits = {"ANAPHORA_FILE_MEGABYTES": "1", "ANAPHORA_FILE_QUOTA": "2", "DATABASE_URL": database_url or ""}
    return load_settings(environ | limits, env_file=tmp_path / "no.env")


@pytest.fixture
def main_model() -> ScriptedChatModel:
    return ScriptedChatModel(replies=lambda _prompt: Reply("Noted."), context_window=64_000)


@pytest.fixture
def files(app: Flask) -> Attachments:
    return app.extensions[EXTENSION].attachments


def upload(person: Person, content: bytes, name: str = "notes.txt") -> Any:
    return person.post(f"/attachments?name={name}", data=content, content_type="application/octet-stream")


def attached(person: Person, content: bytes, name: str = "notes.txt") -> str:
    answer = upload(person, content, name)
    assert answer.status_code == 201, answer.get_data(as_text=True)
    return answer.json["attachment_id"]


def asked(model: ScriptedChatModel) -> str:
    """What the model was asked last."""
    return model.prompts[-1][-1]["content"]


def reported(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in events[0]["references"] if entry["kind"] == "file"]


def test_an_upload_may_come_in_a_form_which_says_its_name(ada: Person) -> None:
    def sent(address: str) -> Any:
        form = {"file": (io.BytesIO(b"Seven lighthouses."), "folder/light.txt")}
        return ada.post(address, data=form, content_type="multipart/form-data")

    answer = sent("/attachments")
    assert (answer.status_code, answer.json["name"], answer.json["characters"]) == (201, "light.txt", 18)
    assert sent("/attachments?name=other.txt").json["name"] == "other.txt"
    nameless = ada.post("/attachments", data=b"Eight.", content_type="application/octet-stream")
    assert (nameless.status_code, nameless.json["name"]) == (201, "file")


def test_attachments_are_files_under_another_name(ada: Person, eve: Person, main_model: ScriptedChatModel) -> None:
    answer = ada.post("/files?name=notes.txt", data=b"Two herons.", content_type="application/octet-stream")
    assert answer.status_code == 201
    file = answer.json
    assert (file["name"], file["type"], file["size"], file["pages"]) == ("notes.txt", "text/plain", 11, None)
    assert file["file_id"] == file["attachment_id"]
    assert ada.get(f"/files/{file['file_id']}").get_data() == b"Two herons."
    assert ada.get(f"/files/{file['file_id']}/text").json["text"] == "Two herons."
    assert refused(eve.get(f"/files/{file['file_id']}")) == (404, "attachment_not_found")
    ada.say(ada.new_conversation(), "How many?", files=[file["file_id"]])
    assert "Two herons." in asked(main_model)
    assert refused(ada.delete(f"/files/{file['file_id']}")) == (409, "conflict")


def test_an_upload_is_told_by_its_content(ada: Person) -> None:
    told = upload(ada, pdf_of(PAGES), "a%2Fb%2Freport.txt").json
    assert (told["name"], told["media_type"], told["kind"], told["pages"]) == (
        "report.txt",
        "application/pdf",
        "pdf",
        100,
    )
    assert ada.get(f"/attachments/{told['attachment_id']}/about").json == told
    assert ada.get(f"/attachments/{told['attachment_id']}/text?page=7").json["text"].strip() == PAGES[6]
    assert refused(ada.get(f"/attachments/{told['attachment_id']}/text?page=101")) == (400, "bad_request")


def test_a_text_file_reaches_the_model_word_for_word(ada: Person, main_model: ScriptedChatModel) -> None:
    text = "def area(r):\n    return 3.14159 * r ** 2  # π, roughly\n"
    conversation_id, file = ada.new_conversation(), attached(ada, text.encode(), "area.py")
    events = ada.say(conversation_id, "What does it do?", files=[file])
    assert f'type="file">file_1: area.py, 3 lines\n{text}</pkb_item>' in asked(main_model)
    assert 'source="attached"' in asked(main_model)
    (entry,) = reported(events)
    assert (entry["status"], entry["title"], entry["chars"]) == ("resolved", "area.py", len(text))
    question, _ = ada.get(f"/list_messages_by_conversation/{conversation_id}").json
    (part,) = question["parts"]
    assert (part["kind"], part["attachment_id"], part["name"]) == ("file", file, "area.py")


def test_a_pdf_of_a_hundred_pages_reaches_the_model_with_its_page_numbers(
    ada: Person, main_model: ScriptedChatModel
) -> None:
    ada.say(ada.new_conversation(), "Summarise it.", files=[attached(ada, pdf_of(PAGES), "report.pdf")])
    for number, text in enumerate(PAGES, 1):
        assert f"[Page {number}]\n{text}" in asked(main_model)


def test_a_word_document_reaches_the_model(ada: Person, main_model: ScriptedChatModel) -> None:
    file = attached(ada, docx_of(["The password of the safe is 4711."]), "letter.docx")
    ada.say(ada.new_conversation(), "What is it?", files=[file])
    assert "The password of the safe is 4711." in asked(main_model)


def test_what_is_cut_is_announced_with_the_pages_that_are_in(ada: Person, main_model: ScriptedChatModel) -> None:
    main_model._context_window = 4_000
    events = ada.say(ada.new_conversation(), "Go.", files=[attached(ada, pdf_of(PAGES), "report.pdf")])
    (entry,) = reported(events)
    assert entry["status"] == "truncated"
    last = entry["said"][0][0]["values"]["last"]
    assert 1 < last < 100
    assert f"[Page {last}]" in asked(main_model)
    assert f"[Page {last + 1}]" not in asked(main_model)
    assert f"Pages 1 to {last} of 100 are given" in asked(main_model)


def test_a_scan_says_so(ada: Person, main_model: ScriptedChatModel) -> None:
    events = ada.say(ada.new_conversation(), "Go.", files=[attached(ada, pdf_of([""]), "scan.pdf")])
    assert [entry["status"] for entry in reported(events)] == ["unavailable"]
    assert "file_1: scan.pdf, 1 page: No text could be read" in asked(main_model)


def test_a_text_whose_encoding_is_guessed_says_so(ada: Person, main_model: ScriptedChatModel) -> None:
    sent = upload(ada, "東京都".encode("euc_jp"), "place.txt").json
    assert sent["problem"] == "encoding"
    events = ada.say(ada.new_conversation(), "Go.", files=[sent["attachment_id"]])
    (entry,) = reported(events)
    assert entry["notes"] == [say("file_encoding_guessed")]


def test_a_model_that_sees_gets_the_picture_upright(ada: Person, main_model: ScriptedChatModel) -> None:
    main_model._sees_pictures = True
    ada.say(ada.new_conversation(), "What is it?", files=[attached(ada, picture_of(40, 20, turned=True), "photo.jpg")])
    (url,) = main_model.prompts[-1][-1]["pictures"]
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as picture:
        assert picture.size == (20, 40)


def test_of_a_model_that_does_not_see_the_report_says_so(ada: Person, main_model: ScriptedChatModel) -> None:
    events = ada.say(ada.new_conversation(), "What is it?", files=[attached(ada, picture_of(), "photo.jpg")])
    (entry,) = reported(events)
    assert (entry["status"], entry["notes"]) == ("unavailable", ["scripted does not see pictures."])
    assert "pictures" not in main_model.prompts[-1][-1]


def test_a_later_turn_of_a_model_without_tools_keeps_the_text(ada: Person, main_model: ScriptedChatModel) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Read it.", files=[attached(ada, b"The code is 4711.", "code.txt")])
    ada.say(conversation_id, "And now?")
    assert "The code is 4711." in main_model.prompts[-1][1]["content"]


def test_a_later_turn_of_a_model_with_tools_has_one_line_and_the_tool(
    ada: Person, main_model: ScriptedChatModel
) -> None:
    main_model._calls_tools = True
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Read it.", files=[attached(ada, pdf_of(PAGES), "report.pdf")])
    ada.say(conversation_id, "And now?")
    (told,) = [message["content"] for message in main_model.prompts[-1] if "report.pdf" in message["content"]]
    assert "[file_1: report.pdf, 100 pages; read_file @conversation_" in told
    assert PAGES[0] not in told
    assert "read_file" in [tool["function"]["name"] for tool in main_model.calls[-1].tools or ()]
    reference = told.partition("read_file ")[2].partition("]")[0]
    call = {"reference": reference, "pageStart": 7, "pageEnd": 8}
    read = ada.post("/api/tools/read_file", json=call).json
    assert (read["totalPages"], read["pageStart"], read["pageEnd"]) == (100, 7, 8)
    assert [page for page in PAGES if page in read["content"]] == PAGES[6:8]
    lines = ada.post("/api/tools/read_file", json={**call, "lineStart": 2, "lineEnd": 2}).json
    assert lines["content"] == f"2→{PAGES[6]}"


@pytest.mark.parametrize(
    ("pages", "start", "end", "shown", "message"),
    [
        ("", None, None, (1, 5), None),
        ("", 4, None, (4, 5), None),
        ("", None, 2, (1, 2), None),
        ("", 4, 9, (4, 5), None),
        ("", 9, None, None, "Page 9 is beyond the end (5 pages)."),
        ("", 9, 12, None, "Page 9 is beyond the end (5 pages)."),
        ("_pages_3-5", None, None, (3, 5), None),
        ("_pages_3-5", None, 4, (3, 4), None),
        ("_pages_3-5", 4, None, (4, 5), None),
        ("_pages_3-5", 2, 9, (3, 5), None),
        ("_pages_2-3", 1, 1, None, "Page 1 is none of those that the reference names (2 to 3)."),
        ("_pages_2-3", 4, 5, None, "Page 4 is none of those that the reference names (2 to 3)."),
        ("_pages_2-3", 6, None, None, "Page 6 is beyond the end (5 pages)."),
    ],
)
def test_pages_are_read_under_their_own_numbers(
    ada: Person, pages: str, start: int | None, end: int | None, shown: tuple[int, int] | None, message: str | None
) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Read it.", files=[attached(ada, pdf_of(PAGES[:5]), "report.pdf")])
    reference = f"{message_reference(ada, conversation_id)}_file_1{pages}"
    read = ada.post("/api/tools/read_file", json={"reference": reference, "pageStart": start, "pageEnd": end}).json
    first, last = shown or (None, None)
    assert (read["success"], read["totalPages"], read["pageStart"], read["pageEnd"]) == (True, 5, first, last)
    texts = "".join(f"[Page {number}]{PAGES[number - 1]}" for number in range(first or 1, (last or 0) + 1))
    assert re.sub(r"^\d+→|\n", "", read["content"], flags=re.MULTILINE) == texts
    assert read.get("rangeMessage") == message
    assert (read["rangeStart"] is None) == (shown is None)


def test_pages_of_a_file_without_pages(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Read it.", files=[attached(ada, b"a,b\n1,2\n", "table.csv")])
    call = {"reference": f"{message_reference(ada, conversation_id)}_file_1"}
    whole = ada.post("/api/tools/read_file", json={**call, "pageStart": 1, "pageEnd": 3}).json
    assert (whole["success"], "1,2" in whole["content"]) == (True, True)
    none = ada.post("/api/tools/read_file", json={**call, "pageStart": 2}).json
    assert (none["content"], none["rangeMessage"]) == ("", "Page 2 is beyond the end (1 page).")
    turned = ada.post("/api/tools/read_file", json={**call, "pageStart": 3, "pageEnd": 2})
    assert (turned.status_code, turned.json["message"]) == (400, "pageStart (3) is after pageEnd (2).")


def message_reference(person: Person, conversation_id: str) -> str:
    question = person.get(f"/list_messages_by_conversation/{conversation_id}").json[0]
    fid = person.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    return f"@conversation_{fid}_message_{question['message_short_hash']}"


def test_a_file_and_its_pages_can_be_named(ada: Person, eve: Person, main_model: ScriptedChatModel) -> None:
    first = ada.new_conversation()
    ada.say(first, "Read it.", files=[attached(ada, pdf_of(PAGES), "report.pdf")])
    reference = message_reference(ada, first)
    ada.say(ada.new_conversation(), f"Compare {reference}_file_1_pages_3-5 please")
    assert f'source="referenced" type="file" ref="{reference}_file_1_pages_3-5"' in asked(main_model)
    assert [page for page in PAGES if page in asked(main_model)] == PAGES[2:5]

    def fate(name: str, person: Person = ada) -> tuple[str, str]:
        entry = person.get("/references/resolve", query_string={"ref": name}).json
        return entry["kind"], entry["status"]

    assert fate(f"{reference}_file_1") == ("file", "resolved")
    assert fate(f"{reference}_file_2") == fate(f"{reference}_file_99999") == ("file", "not_found")
    assert fate(f"{reference}_file_{'9' * 300}") == ("file", "not_found")
    assert fate(f"{reference}_file_1_pages_12345678901-12345678902") == ("file", "out_of_range")
    assert fate(f"{reference}_file_1_pages_101-102") == ("file", "out_of_range")
    assert fate(f"{reference}_file_1_pages_5-3") == ("file", "malformed")
    assert fate(f"{reference}_file_1", eve) == ("file", "not_found")


def test_an_answer_made_again_and_a_question_asked_again_have_the_files(
    ada: Person, main_model: ScriptedChatModel
) -> None:
    conversation_id = ada.new_conversation()
    events = ada.say(conversation_id, "Read it.", files=[attached(ada, b"The code is 4711.", "code.txt")])
    ids = [event["message_ids"] for event in events if "message_ids" in event][-1]
    for path, body in (
        (f"/regenerate/{conversation_id}/{ids['response_message_id']}", {}),
        (f"/branch/{conversation_id}/{ids['user_message_id']}", {"text": "Read it well."}),
    ):
        asked_before = len(main_model.prompts)
        answer = ada.post(path, json=body)
        assert answer.status_code == 200
        assert answer.get_data()
        assert len(main_model.prompts) == asked_before + 1
        assert "The code is 4711." in asked(main_model)
    question = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[0]
    assert [part["name"] for part in question["parts"]] == ["code.txt"]


def test_a_message_of_files_alone_is_a_message(
    ada: Person, main_model: ScriptedChatModel, cheap_model: ScriptedChatModel, files: Attachments
) -> None:
    """It is answered, titled after its files, in later prompts, found, made again, asked again, copied and exported."""
    conversation_id = ada.new_conversation()
    events = ada.say(conversation_id, "", files=[attached(ada, b"The code is 4711.", "door code.txt")])
    assert "The code is 4711." in asked(main_model)
    assert [entry["title"] for entry in reported(events)] == ["door code.txt"]
    assert "door code.txt" in cheap_model.prompts[-1][-1]["content"]
    question, answer = ada.get(f"/list_messages_by_conversation/{conversation_id}").json
    assert (question["text"], [part["name"] for part in question["parts"]]) == ("", ["door code.txt"])
    assert re.fullmatch("[0-9a-z]{6}", question["message_short_hash"])

    ada.say(conversation_id, "  \n", files=[attached(ada, b"Second.", "second.txt")])
    *_, before, _, _ = main_model.prompts[-1]
    assert before["role"] == "user"
    assert before["content"].strip().endswith("The code is 4711.</pkb_item>")
    assert "(no answer)" not in before["content"]
    third = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[2]
    assert third["text"] == ""
    assert third["message_short_hash"] != question["message_short_hash"]

    made_again = ada.post(f"/regenerate/{conversation_id}/{answer['message_id']}", json={})
    assert made_again.status_code == 200
    assert made_again.get_data()
    assert "The code is 4711." in asked(main_model)
    asked_again = ada.post(f"/branch/{conversation_id}/{question['message_id']}", json={"text": ""})
    assert asked_again.status_code == 200
    assert asked_again.get_data()
    assert "The code is 4711." in asked(main_model)

    index_pending(files)
    results = told(ada.get("/search?q=4711"), SearchResults).results
    assert {each.title for each in results if isinstance(each, FileResult)} == {"door code.txt"}
    clone = ada.post(f"/clone_conversation/{conversation_id}").json["conversation_id"]
    assert ada.get(f"/list_messages_by_conversation/{clone}").json[0]["parts"][0]["name"] == "door code.txt"
    for form in ("markdown", "json", "bundle"):
        assert ada.get(f"/export_conversation/{conversation_id}?format={form}").status_code == 200
    token = ada.post(f"/share/{conversation_id}").json["token"]
    assert ada.get(f"/shared_chat/{token}").status_code == 200
    assert ada.get(f"/share/{conversation_id}").json["message_count"] == 2


def test_without_a_model_for_titles_a_message_of_files_alone_is_titled_after_them(
    ada: Person, cheap_model: ScriptedChatModel
) -> None:
    cheap_model._replies = lambda _prompt: Reply("")
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "", files=[attached(ada, b"Ebb at six.", "tides.txt"), attached(ada, b"Calm", "wind.txt")])
    assert ada.get(f"/get_conversation_details/{conversation_id}").json["title"] == "tides.txt, wind.txt"


def test_a_message_without_text_and_files_is_refused(ada: Person) -> None:
    conversation_id = ada.new_conversation()
    for body in ({"messageText": ""}, {"messageText": " \n", "files": []}):
        assert refused(ada.post(f"/send_message/{conversation_id}", json=body)) == (400, "bad_request")
    gone = {"messageText": "", "files": ["no such file"]}
    assert refused(ada.post(f"/send_message/{conversation_id}", json=gone)) == (404, "attachment_not_found")
    assert ada.get(f"/list_messages_by_conversation/{conversation_id}").json == []


def test_a_clone_keeps_the_files(ada: Person, files: Attachments) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Read it.", files=[attached(ada, b"The code is 4711.", "code.txt")])
    clone = ada.post(f"/clone_conversation/{conversation_id}").json["conversation_id"]
    (part,) = ada.get(f"/list_messages_by_conversation/{clone}").json[0]["parts"]
    assert ada.get(f"/attachments/{part['attachment_id']}").get_data() == b"The code is 4711."


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.html", b"<!doctype html><script>alert(1)</script>"),
        ("x.svg", b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
        ("x.png", b"<html><script>alert(1)</script></html>"),
    ],
)
def test_files_are_saved_and_never_shown_as_pages(ada: Person, name: str, content: bytes) -> None:
    file = attached(ada, content, name)
    assert ada.get(f"/attachments/{file}/about").json["kind"] == "text"
    answer = ada.get(f"/attachments/{file}")
    assert answer.get_data() == content
    assert answer.headers["Content-Disposition"].startswith(f'attachment; filename="{name}"')
    assert answer.mimetype == "application/octet-stream"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in answer.headers["Content-Security-Policy"]
    assert refused(ada.get(f"/attachments/{file}?form=picture")) == (404, "attachment_not_found")


def test_a_picture_is_shown_anew_and_saved_as_it_was(ada: Person) -> None:
    content = picture_of(40, 20, turned=True)
    file = attached(ada, content, "photo.jpg")
    shown = ada.get(f"/attachments/{file}?form=picture")
    assert (shown.mimetype, "sandbox" in shown.headers["Content-Security-Policy"]) == ("image/jpeg", True)
    assert b"secret" not in shown.get_data()
    assert ada.get(f"/attachments/{file}").get_data() == content


def test_a_browser_asks_again_before_it_shows_a_file_that_it_kept(ada: Person, eve: Person) -> None:
    file = attached(ada, picture_of(40, 20), "photo.jpg")
    for address in (f"/attachments/{file}", f"/attachments/{file}?form=picture"):
        first = ada.get(address)
        assert first.headers["Cache-Control"] == "private, no-cache"
        again = {"If-None-Match": first.headers["ETag"]}
        kept = ada.get(address, headers=again)
        assert (kept.status_code, kept.get_data()) == (304, b"")
        assert ada.get(address, headers={"If-None-Match": '"another"'}).get_data() == first.get_data()
        assert refused(eve.get(address, headers=again)) == (404, "attachment_not_found")
    ada.delete(f"/attachments/{file}")
    assert refused(ada.get(address, headers=again)) == (404, "attachment_not_found")


def test_uploads_beyond_the_limits_are_refused(ada: Person, files: Attachments) -> None:
    assert refused(upload(ada, b"x" * (1024 * 1024 + 1))) == (413, "too_large")
    assert refused(upload(ada, b"MZ\0\0program")) == (415, "unsupported_media_type")
    wrong = ada.post("/attachments?name=x", data=b"x", content_type="text/plain")
    assert refused(wrong) == (415, "unsupported_media_type")
    for number in range(2):
        attached(ada, bytes([97 + number]) * 1024 * 1024)
    assert refused(upload(ada, b"one more")) == (507, "quota_exceeded")
    assert list((files.folder / "incoming").iterdir()) == []


def test_the_same_content_is_kept_once(ada: Person, eve: Person, files: Attachments) -> None:
    first, again = attached(ada, b"same", "a.txt"), attached(ada, b"same", "a.txt")
    other = attached(ada, b"same", "b.txt")
    assert first == again != other
    attached(eve, b"same", "a.txt")
    assert sorted(len(list(folder.iterdir())) for folder in files.folder.iterdir()) == [0, 1, 1]  # incoming, two people


def test_a_file_of_somebody_else_can_not_be_attached(ada: Person, eve: Person) -> None:
    conversation_id = eve.new_conversation()
    body = {"messageText": "Read it.", "files": [attached(ada, b"secret")]}
    assert refused(eve.post(f"/send_message/{conversation_id}", json=body)) == (404, "attachment_not_found")
    assert eve.get(f"/list_messages_by_conversation/{conversation_id}").json == []


def test_a_file_can_be_taken_back_until_a_message_uses_it(ada: Person, files: Attachments) -> None:
    file = attached(ada, b"take me back")
    assert ada.delete(f"/attachments/{file}").status_code == 200
    assert refused(ada.get(f"/attachments/{file}")) == (404, "attachment_not_found")
    assert [list(folder.iterdir()) for folder in files.folder.iterdir()] == [[], []]
    used = attached(ada, b"keep me")
    ada.say(ada.new_conversation(), "Read it.", files=[used])
    assert refused(ada.delete(f"/attachments/{used}")) == (409, "conflict")


def test_a_file_is_erased_with_its_last_use(
    ada: Person, files: Attachments, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation_id = ada.new_conversation()
    used, unsent = attached(ada, b"used"), attached(ada, b"never sent")
    ada.say(conversation_id, "Read it.", files=[used])
    assert files.sweep() == 0
    monkeypatch.setattr("attachments.storage.UNSENT_HOURS", -1)
    assert files.sweep() == 1
    assert refused(ada.get(f"/attachments/{unsent}/about")) == (404, "attachment_not_found")
    assert ada.get(f"/attachments/{used}").get_data() == b"used"
    ada.delete(f"/delete_conversation/{conversation_id}")
    assert files.sweep() == 0  # the conversation can be restored
    ada.post("/empty_bin/assistant")
    purge_bin(database=files.database)
    assert files.sweep() == 1
    assert [list(folder.iterdir()) for folder in files.folder.iterdir()] == [[], []]


def test_an_account_takes_its_files_along(ada: Person, eve: Person, app: Flask, files: Attachments) -> None:
    attached(eve, b"stays")
    attached(ada, b"goes")
    assert ada.delete("/account", json={"password": "correct horse battery"}).status_code == 200
    app.extensions[EXTENSION].account_erasure.erase_closed()
    assert [file.read_bytes() for file in files.folder.rglob("original")] == [b"stays"]
    assert files.list_of(ada.email) == []


def test_a_file_is_found_by_its_owner_wherever_messages_are_searched(
    ada: Person, files: Attachments, person: Callable[[str], Person]
) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Summarise it.", files=[attached(ada, pdf_of(PAGES), "report.pdf")])
    index_pending(files)
    name = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    (found,) = told(ada.get("/search?q=%22of the 49 lighthouses%22"), SearchResults).results
    assert isinstance(found, FileResult)
    assert (found.title, found.page, found.number, found.message_index) == ("report.pdf", 7, 1, 1)
    assert found.reference == f"@conversation_{name}_message_{found.message_short_hash}_file_1_pages_7-7"
    assert ada.get("/references/resolve", query_string={"ref": found.reference}).json["status"] == "resolved"
    (hit,) = ada.get(f"/conversations/{name}/messages?q=49 lighthouses").json
    assert hit["message_short_hash"] == found.message_short_hash
    results = ada.post("/api/tools/search_messages", json={"query": '"of the 49 lighthouses"', "limit": 5}).json[
        "results"
    ]
    assert [each["reference"] for each in results if each.get("file") == "report.pdf"] == [found.reference]
    bob = person("bob@example.com")
    assert told(bob.get("/search?q=lighthouses"), SearchResults).results == []


def test_all_files_of_a_conversation_are_listed_with_their_messages(
    ada: Person, person: Callable[[str], Person]
) -> None:
    conversation_id = ada.new_conversation()
    assert ada.get(f"/conversations/{conversation_id}/files").json == []
    photo = io.BytesIO()
    Image.new("RGB", (8, 4)).save(photo, "PNG")
    ada.say(conversation_id, "One.", files=[attached(ada, pdf_of(["A page."]), "report.pdf")])
    ada.say(conversation_id, "Two.", files=[attached(ada, photo.getvalue(), "p.png"), attached(ada, b"x\ny", "n.txt")])
    found = told(ada.get(f"/conversations/{conversation_id}/files"), list[FileOfConversation])
    assert [(each.name, each.kind, each.number, each.message_index) for each in found] == [
        ("report.pdf", "file", 1, 1),
        ("p.png", "image", 1, 3),
        ("n.txt", "file", 2, 3),
    ]
    assert (found[0].pages, found[1].width, found[2].lines, found[2].size) == (1, 8, 2, 3)
    name = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    newest = ada.get(f"/conversations/{name}/messages").json
    assert [hit["files"] for hit in newest] == [
        [],
        [{"number": 1, "name": "p.png"}, {"number": 2, "name": "n.txt"}],
        [],
        [{"number": 1, "name": "report.pdf"}],
    ]
    bob = person("bob@example.com")
    assert refused(bob.get(f"/conversations/{conversation_id}/files"))[0] == 404


@pytest.mark.parametrize("words", ["", "Keep these."])
def test_a_reference_to_a_message_names_its_files_and_brings_their_texts(
    ada: Person, main_model: ScriptedChatModel, words: str
) -> None:
    conversation_id = ada.new_conversation()
    long = attached(ada, b"The code is 4711. " * 1_000, "door code.txt")
    picture = attached(ada, picture_of(8, 8), "door.png")
    ada.say(conversation_id, words, files=[long, picture])
    name = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    question = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[0]
    reference = f"@conversation_{name}_message_{question['message_short_hash']}"
    for written in (reference, f"#{question['message_id'].replace('-', '')}"):
        events = ada.say(ada.new_conversation(), f"What says {written}?")
        (entry,) = events[0]["references"]
        assert (entry["ref"], entry["status"], entry["chars"]) == (written, "truncated", len(words) + 18_000)
        assert entry["preview"].startswith(words or "The code is 4711.")
        assert entry["notes"][0] == "Files of the message: door code.txt, door.png."
        assert entry["notes"][1].startswith("door code.txt: ")
        assert entry["notes"][2] == "door.png: scripted does not see pictures."
        given = asked(main_model)
        assert (
            f"#1 (You; file_1: door code.txt, 1 line; file_2: door.png, a picture of 8 × 8 pixels):\n{words}" in given
        )
        assert f'source="referenced" type="file" ref="{reference}_file_1"' in given
        assert given.count("The code is 4711. ") > 300
    # A range and a whole conversation name them.
    for written in (f"@conversation_{name}_messages_1-2", f"@conversation_{name}"):
        ada.say(ada.new_conversation(), f"What says {written}?")
        assert "(You; file_1: door code.txt, 1 line; " in asked(main_model)


@pytest.mark.parametrize("name", ["_message_1", "_message_1_file_1"])
def test_a_model_that_sees_gets_the_picture_that_a_reference_names(
    ada: Person, main_model: ScriptedChatModel, name: str
) -> None:
    main_model._sees_pictures = True
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "", files=[attached(ada, picture_of(40, 20), "door.png")])
    friendly_id = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    named = f"@conversation_{friendly_id}{name}"
    own = attached(ada, picture_of(8, 8), "own.png")
    # Named twice, it goes once, before the message's own, as the text has them.
    events = ada.say(
        ada.new_conversation(), f"Compare {named} with @conversation_{friendly_id}_message_1.", files=[own]
    )
    entry = next(each for each in events[0]["references"] if each["ref"] == named)
    assert (entry["status"], entry["count"]) == ("resolved", 1)
    assert "door.png: It is a picture, which has no text." not in entry["notes"]
    assert sizes_given(main_model) == [(40, 20), (8, 8)]
    assert "file_1: door.png, a picture of 40 × 20 pixels" in asked(main_model)
    # The next message does not bring it along by itself.
    ada.say(conversation_id, "And now?")
    assert "pictures" not in main_model.prompts[-1][-1]


def test_of_a_named_picture_the_report_says_that_the_model_does_not_see_it(
    ada: Person, main_model: ScriptedChatModel
) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Look.", files=[attached(ada, picture_of(), "door.png")])
    friendly_id = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    named = [f"@conversation_{friendly_id}_message_1_file_1", f"@conversation_{friendly_id}_message_1"]
    events = ada.say(ada.new_conversation(), " ".join(named))
    picture, message = events[0]["references"]
    assert (picture["status"], picture["notes"]) == ("unavailable", ["scripted does not see pictures."])
    assert (message["status"], message["notes"][1:]) == ("resolved", ["door.png: scripted does not see pictures."])
    assert "pictures" not in main_model.prompts[-1][-1]


def test_more_named_pictures_than_the_window_has_room_for_are_told(ada: Person, main_model: ScriptedChatModel) -> None:
    main_model._sees_pictures = True
    main_model._context_window = 16_000
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "", files=[attached(ada, picture_of(8, 8 + n), f"{n}.png") for n in range(4)])
    friendly_id = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    names = [f"@conversation_{friendly_id}_message_1_file_{n}" for n in range(1, 5)]
    own = attached(ada, picture_of(9, 9), "own.png")
    events = ada.say(ada.new_conversation(), " ".join(names), files=[own])
    told = {entry["ref"]: (entry["status"], entry["notes"]) for entry in events[0]["references"]}
    beyond = ("unavailable", ["It does not go with the message: this model has no room for more pictures."])
    assert [told[name] for name in names] == [("resolved", []), beyond, beyond, beyond]
    assert sizes_given(main_model) == [(8, 8), (9, 9)]


def test_a_picture_of_the_message_that_it_names_as_well_goes_once_and_takes_one_place(
    ada: Person, main_model: ScriptedChatModel
) -> None:
    main_model._sees_pictures = True
    main_model._context_window = 6_000
    conversation_id = ada.new_conversation()
    picture = attached(ada, picture_of(8, 8), "door.png")
    ada.say(conversation_id, "", files=[picture])
    friendly_id = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    named = f"@conversation_{friendly_id}_message_1_file_1"
    events = ada.say(ada.new_conversation(), named, files=[picture])
    assert (events[0]["references"][0]["ref"], events[0]["references"][0]["status"]) == (named, "resolved")
    assert sizes_given(main_model) == [(8, 8)]


def test_of_several_models_those_that_see_get_the_picture_and_the_report_names_the_others() -> None:
    entry = ReportEntry(ref="@it", kind="file", status="resolved", title="door.png")
    blind = ScriptedChatModel(name="blind", replies=["Fine."])
    wide, narrow = (
        ScriptedChatModel(name=name, replies=["Fine."], sees_pictures=True, context_window=window)
        for name, window in (("wide", 200_000), ("narrow", 16_000))
    )
    for models in ([blind, wide, narrow], [narrow, blind, wide]):
        room = AttachedFiles().room_for_pictures(lambda models=models: models)
        told = [room.admit(entry, picture) for picture in ("data:1", "data:2", "data:1", "data:3")]
        unseen = ("blind does not see pictures.",)
        assert [(each.status, each.notes) for each in told[:3]] == [("resolved", unseen)] * 3
        assert told[3].status == "unavailable"
    assert AttachedFiles().room_for_pictures(lambda: [blind, blind]).admit(entry, "data:1").status == "unavailable"


def test_pictures_of_one_request_are_bounded_whatever_the_window_is() -> None:
    entry = ReportEntry(ref="@it", kind="file", status="resolved", title="door.png")
    model = ScriptedChatModel(replies=["Fine."], sees_pictures=True, context_window=10_000_000)
    room = AttachedFiles().room_for_pictures(lambda: [model])
    assert [room.admit(entry, f"data:{n}").status for n in range(51)] == ["resolved"] * 50 + ["unavailable"]
    room = AttachedFiles().room_for_pictures(lambda: [model])
    large = "0" * (7 * 2**20)
    assert [room.admit(entry, f"{large}{n}").status for n in range(3)] == ["resolved", "resolved", "unavailable"]


def test_texts_that_other_programs_gave_without_files_are_each_given() -> None:
    items = []
    for number, text in enumerate(("First.", "Second."), 1):
        part = {"id": 1, "kind": "file", "name": "notes.txt", "text": text}
        message: Any = {"message_id": f"m{number}", "message_short_hash": f"a1b2c{number}", "parts": [part]}
        found = files_of_message(message, "notes_a1b2", user_email="ada@example.com", attachments=None, cap=1_000)
        items += [item for resolution in found for item in resolution.items]
    assert [item.body for item in merge([*items, items[0]])] == ["First.", "Second."]


def sizes_given(model: ScriptedChatModel) -> list[tuple[int, int]]:
    """The sizes of the pictures that came with the last question, in order."""
    sizes = []
    for url in model.prompts[-1][-1]["pictures"]:
        with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as picture:
            sizes.append(picture.size)
    return sizes


def test_a_reference_to_a_message_of_a_picture_alone_says_so(ada: Person, main_model: ScriptedChatModel) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "", files=[attached(ada, picture_of(8, 8), "door.png")])
    name = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    asking = f"/references/resolve?conversation_id={conversation_id}&ref=@conversation_{name}_message_1"
    told_of, unseen = "Files of the message: door.png.", "scripted does not see pictures."
    found = [(entry["status"], entry["notes"]) for entry in (ada.get(asking).json, ada.get(f"{asking}_file_1").json)]
    assert found == [("empty", [told_of, f"door.png: {unseen}"]), ("unavailable", [unseen])]
    main_model._sees_pictures = True
    found = [(entry["status"], entry["notes"]) for entry in (ada.get(asking).json, ada.get(f"{asking}_file_1").json)]
    assert found == [("resolved", [told_of]), ("resolved", [])]
