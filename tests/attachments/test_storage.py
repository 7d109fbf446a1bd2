"""Where files are: backed up with the rest, and what an interrupted upload leaves is no file of anybody."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import delete, insert, select

from attachments import storage
from attachments.errors import FilesUnavailableError, QuotaExceededError
from attachments.extraction import Extracted, extract
from attachments.storage import Attachments, tidy_name
from chat.exchange.files import opened
from database.accounts.users import create_user
from database.connection import close_store, open_store
from database.history.attachments import Attachment
from database.schema import attachments as attachment_rows
from language_models.file_lock import locked_within
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


def test_a_content_that_a_crash_left_without_a_row_is_erased_later(
    attachments: Attachments, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = stored(attachments, b"stays")

    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    discarded = stored(attachments, b"no row any more")
    with monkeypatch.context() as crash:
        crash.setattr("attachments.storage.rows.add_attachment", killed)
        with pytest.raises(KeyboardInterrupt):
            stored(attachments, b"no row yet")
    with monkeypatch.context() as crash:
        crash.setattr("attachments.storage.rows.stored_content", killed)
        with pytest.raises(KeyboardInterrupt):
            attachments.discard(ADA, discarded.attachment_id)
    person = attachments.original(kept).parent.parent
    assert len(list(person.iterdir())) == 3

    attachments.sweep()
    assert len(list(person.iterdir())) == 3  # it may belong to an upload that is at work
    sweep_twice_after_their_time(attachments, monkeypatch)
    assert [each.name for each in person.iterdir()] == [kept.sha256]
    assert attachments.pages(kept) == ["stays"]


def sweep_twice_after_their_time(attachments: Attachments, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first sweep finds the contents without rows, the second one erases them."""
    monkeypatch.setattr(storage, "_ABANDONED_SECONDS", -1.0)
    attachments.sweep()
    monkeypatch.setattr(storage, "UNNAMED_DAYS", -1)
    attachments.sweep()


def test_files_stay_while_their_rows_are_lost_or_of_a_younger_store(
    attachments: Attachments, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is put back as it was before a file came has a month to get its row again."""
    database = attachments.database
    create_user(database=database, user_email="eve@example.org", password="correct horse battery")
    file = attachments.original(stored(attachments, b"newer than the backup"))
    with database.reading() as connection:
        row = connection.execute(select(attachment_rows)).mappings().one()
    database.write(lambda connection: connection.execute(delete(attachment_rows)).rowcount)
    monkeypatch.setattr(storage, "_ABANDONED_SECONDS", -1.0)
    for _ in range(2):
        attachments.sweep()
        assert file.is_file()
    database.write(lambda connection: connection.execute(insert(attachment_rows), dict(row)).rowcount)
    attachments.sweep()
    assert [each.name for each in file.parent.iterdir() if each.name == "without_row"] == []
    sweep_twice_after_their_time(attachments, monkeypatch)
    assert file.read_bytes() == b"newer than the backup"


@pytest.mark.parametrize("others", [0, 1])
def test_files_of_an_account_that_the_store_does_not_know_are_never_swept(
    attachments: Attachments, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """The store was lost and begins anew, also with an account of the same address, which has another id."""
    file = attachments.original(stored(attachments, b"What was attached."))
    begun_anew = open_store(put_empty_store(tmp_path / "anew"))
    shutil.copytree(attachments.folder, begun_anew.folder / "attachments")
    if others:
        create_user(database=begun_anew, user_email=ADA, password="correct horse battery")
    sweep_twice_after_their_time(Attachments(database=begun_anew), monkeypatch)
    there = begun_anew.folder / "attachments" / file.relative_to(attachments.folder)
    assert there.read_bytes() == b"What was attached."
    close_store(begun_anew.folder)


def test_files_of_an_erased_account_that_could_not_be_removed_are_swept(
    attachments: Attachments, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored(attachments, b"What was attached.")
    with monkeypatch.context() as failing:
        failing.setattr(storage, "_erase", lambda _path: None)
        attachments.erase(ADA)
    assert [each.name for each in attachments.folder.iterdir()] == ["incoming"]
    assert [file.read_bytes() for file in attachments.folder.rglob("original")] == [b"What was attached."]
    monkeypatch.setattr(storage, "_ABANDONED_SECONDS", -1.0)
    attachments.sweep()
    assert list(attachments.folder.rglob("original")) == []


@pytest.mark.parametrize("processes", [1, 2])
def test_uploads_at_once_take_no_more_room_than_the_quota_has(
    attachments: Attachments, monkeypatch: pytest.MonkeyPatch, processes: int
) -> None:
    servers = [Attachments(database=attachments.database, quota=1) for _ in range(processes)]
    both_are_read = Barrier(2)

    def read_beside_the_other(*given: Any, **more: Any) -> Extracted:
        both_are_read.wait(60)
        return extract(*given, **more)

    monkeypatch.setattr("attachments.storage.extract", read_beside_the_other)

    def upload(letter: bytes) -> bool:
        try:
            stored(servers[letter[0] % processes], letter * 700_000)
        except QuotaExceededError:
            return False
        return True

    with ThreadPoolExecutor(2) as threads:
        assert sorted(threads.map(upload, (b"a", b"b"))) == [False, True]
    (kept,) = servers[0].list_of(ADA)
    if processes > 1:  # what the other had put in its place already
        sweep_twice_after_their_time(servers[0], monkeypatch)
    assert [each.name for each in servers[0].original(kept).parent.parent.iterdir()] == [kept.sha256]


def test_a_file_that_is_attached_again_while_another_process_erases_it_is_there(
    attachments: Attachments, monkeypatch: pytest.MonkeyPatch
) -> None:
    former = attachments.store_text(ADA, "What was attached.", name="a.txt")
    erase, other, stored_again = storage._erase, Attachments(database=attachments.database), list[Future[Attachment]]()
    with ThreadPoolExecutor(1) as thread:

        def erase_late(path: Path) -> None:
            stored_again.append(thread.submit(other.store_text, ADA, "What was attached.", name="a.txt"))
            wait(stored_again, timeout=0.3)
            erase(path)

        monkeypatch.setattr(storage, "_erase", erase_late)
        attachments.discard(ADA, former.attachment_id)
    again = stored_again[0].result()
    assert other.original(again).read_text() == "What was attached."
    assert other.pages(again) == ["What was attached."]


def test_while_another_process_places_files_for_long_none_is_stored_and_one_is_erased_later(
    attachments: Attachments, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = stored(attachments, b"What was attached.")
    monkeypatch.setattr(storage, "_PATIENCE", 0.02)
    with locked_within(attachments.database.folder / "locks" / "attachments", seconds=60):
        with pytest.raises(FilesUnavailableError):
            stored(attachments, b"More.")
        attachments.discard(ADA, kept.attachment_id)
    assert attachments.original(kept).is_file()
    sweep_twice_after_their_time(attachments, monkeypatch)
    assert not attachments.original(kept).exists()


def test_a_name_is_data_and_no_path() -> None:
    assert tidy_name("../../etc/passwd") == "passwd"
    assert tidy_name("C:\\notes\\a\u202e.txt") == "a .txt"
    assert tidy_name("\x00\n") == "file"
    assert (tidy_name(".."), tidy_name("a/.."), tidy_name(".env")) == ("file", "file", ".env")
    assert tidy_name(f"{'x' * 300}.pdf") == f"{'x' * 196}.pdf"


def test_the_text_that_another_program_gave_along_is_the_file() -> None:
    part = {"id": 2, "kind": "file", "at": 0, "name": "old.pdf", "text": "As it was exported."}
    file = opened(part, user_email=ADA, attachments=None)
    assert (file.number, file.body(), file.is_gone) == (2, "As it was exported.", False)
