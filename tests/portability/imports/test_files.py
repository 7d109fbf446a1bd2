"""Files that lie in the ZIP beside the conversations become files of their messages."""

from __future__ import annotations

import json
import zipfile

import pytest

from attachments.storage import Attachments
from database.accounts.users import create_user
from database.attachments import list_attachments
from database.conversations.repository import get_conversations_for_user
from database.imports.repository import get_import
from database.messages.reading import list_messages
from portability.imports.accepting import accept_file
from portability.imports.files import FileStore
from portability.imports.runner import ImportRunner
from tests.portability.importers.exports import chatgpt_conversation, chatgpt_node

from .conftest import ADA

pytestmark = pytest.mark.contract


def test_files_of_a_zip_are_kept_with_their_messages_and_those_that_can_not_be_stay_named(database, tmp_path):
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
    create_user(database=database, user_email=ADA, password="correct horse battery")
    attachments = Attachments(database=database, largest=1)
    runner = ImportRunner(
        database=database, uploads=tmp_path / "imports", share=1.0, store_files=FileStore(attachments)
    )

    def imported():
        own = {"database": database, "user_email": ADA}
        which = accept_file(file, name="export.zip", state="running", **own)
        runner.run_until_idle()
        return get_import(**own, import_id=which.import_id)

    which = imported()
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

    assert imported().skipped == 1
    assert [each.attachment_id for each in list_attachments(database=database, user_email=ADA)] == [kept.attachment_id]
    runner.close()
