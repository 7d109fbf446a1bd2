"""Uploads at the limit, beyond it, broken off, and many in one message."""

from __future__ import annotations

import io
from typing import Any

import pytest
from flask import Flask

from attachments.storage import Attachments
from endpoints.http.scope import EXTENSION
from tests.endpoints.conftest import Person, refused

pytestmark = pytest.mark.contract
LARGEST = 50 * 1024 * 1024


class Zeros(io.RawIOBase):
    """A stream of `size` times the digit zero, which never stands in memory as a whole."""

    def __init__(self, size: int) -> None:
        self.left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = min(len(buffer), self.left)
        buffer[:count] = b"0" * count
        self.left -= count
        return count


@pytest.fixture
def files(app: Flask) -> Attachments:
    return app.extensions[EXTENSION].attachments


def upload(person: Person, content: Any, *, size: int, name: str = "zeros.txt") -> Any:
    """Upload `content`, announced as `size` bytes."""
    body = {"wsgi.input": content, "CONTENT_LENGTH": str(size)}
    path = f"/attachments?name={name}"
    return person.post(path, content_type="application/octet-stream", environ_overrides=body)


def left_of(files: Attachments, person: Person) -> tuple[list[Any], list[str]]:
    """The rows of the person's files, and the files below the folder."""
    kept = [path.name for path in files.folder.rglob("*") if path.is_file()]
    return files.list_of(person.email), kept


def test_a_file_of_exactly_the_limit_is_taken(ada: Person, files: Attachments) -> None:
    answer = upload(ada, Zeros(LARGEST), size=LARGEST)
    assert (answer.status_code, answer.json["size"]) == (201, LARGEST)
    kept = files.get(ada.email, answer.json["attachment_id"])
    assert files.original(kept).stat().st_size == LARGEST


def test_one_byte_beyond_the_limit_is_refused_and_leaves_nothing(ada: Person, files: Attachments) -> None:
    assert refused(upload(ada, Zeros(LARGEST + 1), size=LARGEST + 1)) == (413, "too_large")
    assert left_of(files, ada) == ([], [])


def test_an_upload_that_breaks_off_leaves_neither_a_row_nor_a_file(ada: Person, files: Attachments) -> None:
    answer = upload(ada, io.BytesIO(b"half of it"), size=1_000)
    assert answer.status_code == 400
    files.sweep()
    assert left_of(files, ada) == ([], [])


def test_a_message_takes_ten_files_in_their_order(ada: Person) -> None:
    names = [f"part_{number}.txt" for number in range(1, 11)]
    uploads = [upload(ada, io.BytesIO(name.encode()), size=len(name), name=name) for name in names]
    ids = [answer.json["attachment_id"] for answer in uploads]
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Read all of them.", files=ids)
    question = ada.get(f"/list_messages_by_conversation/{conversation_id}").json[0]
    assert [(part["id"], part["name"], part["attachment_id"]) for part in question["parts"]] == [
        (number, *each) for number, each in enumerate(zip(names, ids, strict=True), 1)
    ]
