"""What was committed is moved from the log of SQLite into its file beside the writer."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import Connection

from database.engine import checkpoints, sqlite
from database.engine.database import Database
from database.engine.sqlite import LOG_BYTES, SQLiteFile, written_state

PIECE = 256 * 1024


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A store with one table."""
    database = Database(SQLiteFile(file=tmp_path / "x.sqlite"), folder=tmp_path)
    database.write(lambda connection: connection.exec_driver_sql("CREATE TABLE pieces (piece BLOB)") and None)
    yield database
    database.close()


def add(connection: Connection) -> None:
    """Make the log longer by a quarter of a megabyte."""
    connection.exec_driver_sql("INSERT INTO pieces (piece) VALUES (randomblob(?))", (PIECE,))


def log_of(database: Database) -> Path:
    """The write-ahead log."""
    return database.file.with_name("x.sqlite-wal")


def until(condition: Callable[[], object]) -> None:
    """Wait for it."""
    late = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < late
        time.sleep(0.01)


def grow(database: Database, *, to: int) -> None:
    """Write until the log is longer than `to`."""
    while log_of(database).stat().st_size <= to:
        database.write(add)


def stored_without_log(database: Database, folder: Path) -> int:
    """How many pieces the file holds by itself."""
    copy = folder / "copy.sqlite"
    copy.write_bytes(database.file.read_bytes())
    with closing(sqlite3.connect(f"file:{copy}?immutable=1", uri=True)) as connection:
        try:
            return int(connection.execute("SELECT COUNT(*) FROM pieces").fetchone()[0])
        except sqlite3.DatabaseError:  # nothing was moved yet, or only a part
            return 0


def test_a_long_log_is_moved_into_the_file_by_another_thread(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by, connect = set[str](), checkpoints.connect_for_checkpoints

    def noting(file: Path) -> sqlite3.Connection:
        by.add(threading.current_thread().name)
        return connect(file)

    monkeypatch.setattr(checkpoints, "connect_for_checkpoints", noting)
    grow(database, to=LOG_BYTES)
    until(lambda: stored_without_log(database, tmp_path) >= LOG_BYTES // PIECE - 1)
    assert by == {"store-checkpoints"}


def test_a_log_that_was_moved_begins_anew_and_is_cut(database: Database) -> None:
    grow(database, to=2 * LOG_BYTES)
    until(lambda: (time.sleep(0.05), database.write(add), log_of(database).stat().st_size <= LOG_BYTES)[-1])
    with database.reading() as connection:
        assert connection.exec_driver_sql("SELECT COUNT(*) FROM pieces").scalar_one() > 2 * LOG_BYTES // PIECE - 2


def test_a_log_does_not_grow_for_ever_while_somebody_writes_without_a_pause(database: Database) -> None:
    cuts, size = 0, 0
    late = time.monotonic() + 60
    while cuts < 2:
        assert time.monotonic() < late
        database.write(add)
        former, size = size, log_of(database).stat().st_size
        cuts += size < former


def test_no_thread_where_none_can_be_begun(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    start = threading.Thread.start

    def fail(thread: threading.Thread) -> None:
        if thread.name == "store-checkpoints":
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(threading.Thread, "start", fail)
        grow(database, to=LOG_BYTES)
    assert "can't start new thread" in caplog.text
    grow(database, to=2 * LOG_BYTES)
    until(lambda: (database.write(add), log_of(database).stat().st_size <= LOG_BYTES)[-1])


def test_the_log_of_a_linked_file_is_found(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "x.sqlite").symlink_to(elsewhere / "y.sqlite")
    database = Database(SQLiteFile(file=tmp_path / "x.sqlite"), folder=tmp_path)
    database.write(lambda connection: connection.exec_driver_sql("CREATE TABLE pieces (piece BLOB)") and None)
    log = elsewhere / "y.sqlite-wal"
    until(lambda: (database.write(add), log.stat().st_size > LOG_BYTES)[-1])
    until(lambda: (time.sleep(0.05), database.write(add), log.stat().st_size == LOG_BYTES)[-1])
    database.close()
    assert [file.name for file in elsewhere.iterdir()] == ["y.sqlite"]


def test_what_cannot_be_moved_is_told_and_stays_in_the_log(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_file: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(checkpoints, "connect_for_checkpoints", fail)
    with caplog.at_level(logging.WARNING):
        grow(database, to=LOG_BYTES)
        until(lambda: "could not be moved" in caplog.text)
    assert "database or disk is full" in caplog.text
    with database.reading() as connection:
        stored = connection.exec_driver_sql("SELECT COUNT(*) FROM pieces").scalar_one()
    assert stored > LOG_BYTES // PIECE - 2


def test_a_file_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError):
        checkpoints.connect_for_checkpoints(tmp_path / "gone.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_a_closed_store_leaves_no_thread(tmp_path: Path) -> None:
    before = set(threading.enumerate())

    def working() -> set[str]:
        names = {thread.name for thread in set(threading.enumerate()) - before}
        return {name for name in names if name.startswith("store-")}

    database = Database(SQLiteFile(file=tmp_path / "x.sqlite"), folder=tmp_path)
    database.write(lambda connection: connection.exec_driver_sql("CREATE TABLE pieces (piece BLOB)") and None)
    grow(database, to=LOG_BYTES)
    assert working() == {"store-checkpoints"}
    database.close()
    assert not working()


def test_whether_anybody_committed_is_seen_in_the_files(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, log = tmp_path / "link.sqlite", log_of(database)
    link.symlink_to(database.file)
    later = SimpleNamespace(time_ns=lambda: time.time_ns() + 10**9)
    monkeypatch.setattr(sqlite, "time", later)
    before = written_state(link)
    assert written_state(link) == before
    database.write(add)
    after = written_state(link)
    assert after != before
    # A commit may take the place of an older one in the log, which stays as long as it is.
    os.utime(log, ns=(0, log.stat().st_mtime_ns - 10**9))
    assert written_state(link) != after


def test_just_after_a_commit_and_where_nothing_can_be_seen_nobody_knows(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = log_of(database).stat().st_mtime_ns
    monkeypatch.setattr(sqlite, "time", SimpleNamespace(time_ns=lambda: moment + 10**6))
    assert written_state(database.file) != written_state(database.file)
    nameless = tmp_path / ("x" * 300)
    assert written_state(nameless) != written_state(nameless)
