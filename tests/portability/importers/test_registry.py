"""Which importer reads a file, and what one has to give."""

from __future__ import annotations

import pytest

from portability.errors import BrokenImportError
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import FailedItem, ImportedConversation, ImportedMessage
from portability.importers.registry import importer_for, importer_named


class OneLineEach:
    """An importer as small as one can be: a conversation a line."""

    source, title, expects = "lines", "Lines", "a text file whose first line is LINES."

    def recognises(self, file):
        return file.is_single and file.beginning(length=6) == b"LINES\n"

    def conversations(self, file):
        with file.open() as stream:
            for number, line in enumerate(stream):
                if not line.strip():
                    yield FailedItem(f"line {number}", "It is empty.")
                elif number:
                    message = ImportedMessage("1", None, "user", line.decode().strip())
                    yield ImportedConversation(str(number), "", None, None, (message,), current_id="1")


def test_the_importer_that_recognises_a_file_reads_it(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"LINES\nhello\n\n")
    with ImportFile(path) as file:
        importer = importer_for(file, among=[OneLineEach()])
        conversation, failed = importer.conversations(file)

    assert [message.text for message in conversation.messages] == ["hello"]
    assert conversation.current_id == "1"
    assert (conversation.messages[0].thoughts, conversation.messages[0].attachments) == ("", ())
    assert failed == FailedItem("line 2", "It is empty.")


def test_an_unknown_form_says_what_was_expected(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"hello")
    with ImportFile(path) as file, pytest.raises(BrokenImportError, match=r"of these[.] Lines: a text file"):
        importer_for(file, among=[OneLineEach()])
    with pytest.raises(BrokenImportError, match="no importer for nothing"):
        importer_named("nothing")
