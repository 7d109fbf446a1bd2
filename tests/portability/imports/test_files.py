"""Files that lie in the ZIP beside the conversations become files of their messages."""

from __future__ import annotations

import json
import zipfile
from base64 import b64encode

import pytest

from attachments.storage import Attachments
from database.accounts.users import create_user
from database.conversations.repository import get_conversations_for_user
from database.history.attachments import list_attachments
from database.history.reading import list_messages
from database.imports.repository import get_import
from portability.importers.reading.imported import ImportedAttachment
from portability.imports.accepting import accept_file
from portability.imports.files import FileStore
from portability.imports.runner import ImportRunner
from tests.attachments.made_files import picture_of
from tests.portability.importers.exports import (
    chatgpt_conversation,
    chatgpt_node,
    claude_conversation,
    claude_message,
    open_webui_chat,
    open_webui_message,
    write_json,
)

from .conftest import ADA, conversation, message

pytestmark = pytest.mark.contract


@pytest.fixture
def attachments(database):
    create_user(database=database, user_email=ADA, password="correct horse battery")
    return Attachments(database=database, largest=1)


@pytest.fixture
def brought(database, tmp_path, attachments):
    """Import a file with the files of its messages."""
    runner = ImportRunner(
        database=database, uploads=tmp_path / "imports", share=1.0, store_files=FileStore(attachments)
    )

    def run(file):
        own = {"database": database, "user_email": ADA}
        which = accept_file(file, name=file.name, state="running", **own)
        runner.run_until_idle()
        return get_import(**own, import_id=which.import_id)

    yield run
    runner.close()


def first_parts(database):
    """The parts of the first message of the person's conversation."""
    (row,) = get_conversations_for_user(database=database, user_email=ADA)
    return list_messages(database=database, user_email=ADA, conversation_id=row.conversation_id)[0].parts


def test_the_texts_that_a_source_has_of_files_become_files(database, tmp_path, attachments, brought):
    given = [
        {"file_name": "log.csv", "file_type": "csv", "extracted_content": "wind,calm\n"},
        {"file_name": "chart.PDF", "file_type": "pdf", "extracted_content": "%PDF-1.4 is no PDF here."},
        {"file_name": "long.txt", "extracted_content": "x" * (1024 * 1024 + 1)},
        {"file_name": "empty.txt", "extracted_content": ""},
    ]
    talk = claude_conversation(claude_message("m1", "human", "Look", attachments=given, files=[{"file_name": "a.png"}]))
    file = write_json(tmp_path / "conversations.json", [talk])

    which = brought(file)
    assert (which.state, which.imported) == ("done", 1)
    assert [each["item"] for each in which.failures] == ["Harbours: long.txt"]
    log, chart, long, empty, picture = parts = first_parts(database)
    assert [part["name"] for part in parts] == ["log.csv", "chart.PDF.txt", "long.txt", "empty.txt", "a.png"]
    kept = [attachments.get(ADA, part["attachment_id"]) for part in (log, chart)]
    assert [attachments.original(each).read_text() for each in kept] == ["wind,calm\n", "%PDF-1.4 is no PDF here."]
    assert [(each.kind, each.media_type) for each in kept] == [("text", "text/csv"), ("text", "text/plain")]
    assert "text" not in {**log, **chart}
    # What can't be a file stays with the message all the same.
    assert (len(long["text"]), empty["text"]) == (1024 * 1024 + 1, "")
    assert "attachment_id" not in {**long, **empty, **picture}

    assert brought(file).skipped == 1
    assert len(list_attachments(database=database, user_email=ADA)) == 2


def test_a_file_that_a_later_export_has_of_a_known_message_is_added_and_taken_back(
    database, tmp_path, attachments, brought, taken_back
):
    def talk(text, **more):
        messages = [claude_message("m1", "human", "Look", **more), claude_message("m2", "assistant", text, parent="m1")]
        return write_json(tmp_path / "conversations.json", [claude_conversation(*messages)])

    brought(talk("What?"))
    wind = {"file_name": "wind.csv", "extracted_content": "wind,calm\n"}
    second = brought(talk("At what?", attachments=[wind]))
    assert (second.updated, second.failures) == (1, [])
    (added,) = first_parts(database)
    assert attachments.original(attachments.get(ADA, added["attachment_id"])).read_text() == "wind,calm\n"
    assert brought(talk("At what?", attachments=[wind])).skipped == 1

    rain = {"file_name": "rain.csv", "extracted_content": "rain,none\n"}
    third = brought(talk("At what?", attachments=[rain, {**wind, "extracted_content": ""}]))
    assert (third.updated, [part["name"] for part in first_parts(database)]) == (1, ["rain.csv", "wind.csv"])
    assert first_parts(database)[1]["attachment_id"] == added["attachment_id"]
    assert taken_back(third).kept == []
    assert first_parts(database) == (added,)
    assert taken_back(second).kept == []
    assert first_parts(database) == ()


def test_a_file_that_was_only_named_stands_once_when_a_later_export_has_it(database, tmp_path, brought, taken_back):
    def talk(text, **more):
        messages = [claude_message("m1", "human", "Look", **more), claude_message("m2", "assistant", text, parent="m1")]
        return write_json(tmp_path / "conversations.json", [claude_conversation(*messages)])

    brought(talk("What?", files=[{"file_name": "wind.csv"}, {"file_name": "sea.png"}]))
    second = brought(talk("At what?", attachments=[{"file_name": "wind.csv", "extracted_content": "wind,calm\n"}]))
    kept = [(part["name"], "attachment_id" in part) for part in first_parts(database)]
    assert kept == [("wind.csv", True), ("sea.png", False)]
    assert taken_back(second).kept == []
    assert [part["name"] for part in first_parts(database)] == ["wind.csv", "sea.png"]


def test_files_that_a_later_import_renewed_stay_with_an_earlier_one_taken_back(database, tmp_path, brought, taken_back):
    def talk(text, *names):
        files = [{"file_name": name, "extracted_content": name} for name in names]
        question = claude_message("m1", "human", text, attachments=files)
        answer = claude_message("m2", "assistant", "Well", parent="m1")
        return write_json(tmp_path / "conversations.json", [claude_conversation(question, answer)])

    brought(talk("What?"))
    second = brought(talk("At what?", "wind.csv"))
    third = brought(talk("At what?", "wind.csv", "rain.csv"))
    assert (third.updated, len(first_parts(database))) == (1, 2)
    assert taken_back(second).kept != []
    assert [part["name"] for part in first_parts(database)] == ["wind.csv", "rain.csv"]
    assert taken_back(third).kept == []
    assert [part["name"] for part in first_parts(database)] == ["wind.csv"]


def test_pictures_that_stand_in_the_file_become_pictures_of_their_messages(database, tmp_path, attachments, brought):
    def url(content):
        return f"data:image/png;base64,{b64encode(content).decode()}"

    files = [{"type": "image", "url": url(picture_of(fmt="PNG"))}, {"type": "image", "url": url(b"no picture\0")}]
    chat = open_webui_chat(open_webui_message("q", None, "user", "What is this?", files=files))

    which = brought(write_json(tmp_path / "chats.json", [chat]))
    assert (which.imported, [each["item"] for each in which.failures]) == (1, ["Knots: image.png"])
    shown, broken = first_parts(database)
    assert (shown["kind"], shown["name"], shown["width"], shown["height"]) == ("image", "image.png", 40, 20)
    assert attachments.picture(attachments.get(ADA, shown["attachment_id"])).read_bytes()
    assert (broken["kind"], broken["name"], "attachment_id" in broken) == ("file", "image.png", False)


def test_a_batch_holds_few_files_at_once(database, runner, source, added):
    large = [ImportedAttachment("log.txt", text="x" * 5_000_000), ImportedAttachment("b.png", content=b"x" * 5_000_000)]
    source.items = [
        conversation(f"c{number}", message("q1", None, attachments=(large[number % 2],))) for number in range(6)
    ]
    batches = list[int]()

    def keep(_email, conversation, _file, *, after_each):
        batches.append(source.read)
        return conversation, []

    runner._store_files = keep
    added()
    runner.run_until_idle()
    assert batches == [2, 2, 4, 4, 6, 6]
    assert len(get_conversations_for_user(database=database, user_email=ADA)) == 6


def test_files_of_a_zip_are_kept_with_their_messages_and_those_that_can_not_be_stay_named(
    database, tmp_path, attachments, brought
):
    attached = [
        {"id": "file-Notes1", "name": "notes.txt", "mimeType": "text/plain"},
        {"id": "file-Large1", "name": "large.txt", "mimeType": "text/plain"},
        {"id": "file-Gone1", "name": "gone.txt", "mimeType": "text/plain"},
    ]
    talk = chatgpt_conversation(
        chatgpt_node("root", None),
        chatgpt_node("q", "root", "user", "What do the notes say?", metadata={"attachments": attached}),
        chatgpt_node("a", "q", "assistant", "Rice."),
    )
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("conversations.json", json.dumps([talk]))
        archive.writestr("file-Notes1-notes.txt", "Cook the rice.")
        archive.writestr("file-Large1-large.txt", "x" * (1024 * 1024 + 1))
    which = brought(file)
    assert (which.state, which.imported) == ("done", 1)
    assert [each["reason"] for each in which.failures] == ["A file may have 1 MB at most."]
    assert which.failures[0]["item"].endswith(": large.txt")
    (row,) = get_conversations_for_user(database=database, user_email=ADA)
    question = list_messages(database=database, user_email=ADA, conversation_id=row.conversation_id)[0]
    notes, large, gone = question.parts
    assert [part["name"] for part in question.parts] == ["notes.txt", "large.txt", "gone.txt"]
    assert "attachment_id" not in {**large, **gone}
    kept = attachments.get(ADA, notes["attachment_id"])
    assert attachments.original(kept).read_text() == "Cook the rice."
    assert attachments.pages(kept) == ["Cook the rice."]

    assert brought(file).skipped == 1
    assert [each.attachment_id for each in list_attachments(database=database, user_email=ADA)] == [kept.attachment_id]
