"""Where files are: backed up with the rest, and what an interrupted upload leaves is no file of anybody."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from attachments.storage import Attachments, tidy_name
from chat.context.files import opened
from database.accounts.users import create_user
from database.connection import close_store, open_store
from portability.backup import back_up
from portability.restoring import restore
from tests.stores import put_empty_store

ADA = "ada@example.org"


@pytest.fixture
def attachments(tmp_path: Path) -> Iterator[Attachments]:
    users_dir = str(tmp_path / "data" / "users")
    put_empty_store(users_dir)
    database = open_store(users_dir)
    create_user(database=database, user_email=ADA, password="correct horse battery")
    yield Attachments(database=database)
    close_store(users_dir)


def stored(attachments: Attachments, content: bytes, name: str = "notes.txt"):
    with attachments.receiving() as path:
        path.write_bytes(content)
        return attachments.store(ADA, path, name=name)


def test_a_backup_has_the_files_and_not_what_is_being_uploaded(attachments: Attachments, tmp_path: Path) -> None:
    kept = stored(attachments, b"What was attached.")
    with attachments.receiving() as unfinished:
        unfinished.write_bytes(b"half of it")
        archive = back_up(tmp_path / "data", tmp_path / "backup.zip")
    restore(archive, data_dir=tmp_path / "other")
    users_dir = str(tmp_path / "other" / "users")
    there = Attachments(database=open_store(users_dir))
    assert there.original(there.get(ADA, kept.attachment_id)).read_bytes() == b"What was attached."
    assert there.pages(kept) == ["What was attached."]
    assert not (there.folder / "incoming").exists()
    close_store(users_dir)


def test_what_an_interrupted_upload_left_is_removed_later(
    attachments: Attachments, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(attachments, b"stays")
    left = attachments.folder / "incoming" / "abandoned.part"
    left.write_bytes(b"half of it")
    assert attachments.sweep() == 0
    assert left.exists()
    monkeypatch.setattr("attachments.storage._ABANDONED_SECONDS", -1.0)
    attachments.sweep()
    assert not left.exists()


def test_a_name_is_data_and_no_path() -> None:
    assert tidy_name("../../etc/passwd") == "passwd"
    assert tidy_name("C:\\notes\\a\u202e.txt") == "a .txt"
    assert tidy_name("\x00\n") == "file"
    assert tidy_name(f"{'x' * 300}.pdf") == f"{'x' * 196}.pdf"


def test_the_text_that_another_program_gave_along_is_the_file() -> None:
    part = {"id": 2, "kind": "file", "at": 0, "name": "old.pdf", "text": "As it was exported."}
    file = opened(part, user_email=ADA, attachments=None)
    assert (file.number, file.body(), file.is_gone) == (2, "As it was exported.", False)
