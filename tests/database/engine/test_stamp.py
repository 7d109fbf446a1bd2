"""The stamp of a file tells whether this program alone has changed the file since SQLite's check passed on it."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from database.engine import checkpoints
from database.engine.database import Database
from database.engine.sqlite import LOG_BYTES, SQLiteFile
from database.engine.stamp import FileStamp
from database.maintenance.compaction import compact_file
from tests.live_server import ROOT

PIECE = 64 * 1024


def opened(folder: Path) -> Database:
    """A store with one table."""
    database = Database(SQLiteFile(file=folder / "x.sqlite"), folder=folder)
    database.write(
        lambda connection: connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS pieces (piece BLOB)") and None
    )
    return database


def add(connection: Connection) -> None:
    connection.exec_driver_sql("INSERT INTO pieces (piece) VALUES (randomblob(?))", (PIECE,))


def make_checkpoint(database: Database) -> None:
    assert isinstance(database._checkpoints, checkpoints.Checkpoints)
    database._checkpoints._make()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """A store whose file has passed the check."""
    database = opened(tmp_path)
    database.write(add)
    pass_check(database.file)
    yield database
    database.close()


def pass_check(file: Path) -> None:
    stamp = FileStamp(file)
    stamp.begin_check()
    assert not stamp.is_checked(), "it has not passed yet"
    assert stamp.end_check()
    assert FileStamp(file).is_checked()


def test_what_this_program_writes_moves_compacts_and_closes_leaves_the_file_checked(
    database: Database, tmp_path: Path
) -> None:
    before = database.file.read_bytes()
    database.write(add)
    assert FileStamp(database.file).is_checked()
    make_checkpoint(database)
    assert database.file.read_bytes() != before
    assert FileStamp(database.file).is_checked()
    database.write(add)
    moved = database.file.read_bytes()
    database.close()
    assert database.file.read_bytes() != moved, "closing the last connection moves the log"
    assert FileStamp(database.file).is_checked()
    compact_file(database.file)
    assert FileStamp(database.file).is_checked()
    again = opened(tmp_path)
    again.write(add)
    again.close()
    assert FileStamp(database.file).is_checked()


def test_a_log_that_has_become_long_is_moved_and_the_file_stays_checked(database: Database) -> None:
    log = database.file.with_name("x.sqlite-wal")
    while log.stat().st_size <= 3 * LOG_BYTES:
        database.write(add)
    database._checkpoints.close()  # which waits for one that is being made
    assert FileStamp(database.file).is_checked()


def test_looking_at_the_stamp_lets_nobody_move_the_log_away(database: Database) -> None:
    log = database.file.with_name("x.sqlite-wal")
    FileStamp(database.file).is_checked()
    # To close a file that it has open would take SQLite's locks from this process: the other would believe itself last.
    program = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM pieces'); c.close()"
    subprocess.run([sys.executable, "-c", program, str(database.file)], check=True)
    assert log.exists()
    database.write(add)
    with closing(sqlite3.connect(database.file)) as other:
        assert other.execute("SELECT COUNT(*) FROM pieces").fetchone() == (2,)


@pytest.mark.parametrize("sets_time_back", [False, True])
def test_one_byte_that_something_else_changes_is_noticed(database: Database, *, sets_time_back: bool) -> None:
    database.close()
    status = database.file.stat()
    with database.file.open("r+b") as file:
        file.seek(-10, os.SEEK_END)
        file.write(b"x")
    if sets_time_back:
        os.utime(database.file, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert not FileStamp(database.file).is_checked()


def test_a_change_by_something_else_stays_one_whatever_this_program_writes_later(
    database: Database, tmp_path: Path
) -> None:
    with closing(sqlite3.connect(database.file)) as other, other:
        other.execute("DELETE FROM pieces")
        other.commit()
        other.execute("PRAGMA wal_checkpoint")
    assert not FileStamp(database.file).is_checked()
    database.write(add)
    make_checkpoint(database)
    database.close()
    opened(tmp_path).close()
    assert not FileStamp(database.file).is_checked()


def test_a_change_by_something_else_during_the_check_has_it_made_again(database: Database) -> None:
    stamp = FileStamp(database.file)
    stamp.remove()
    stamp.begin_check()
    database.write(add)
    make_checkpoint(database)
    with closing(sqlite3.connect(database.file)) as other, other:
        other.execute("DELETE FROM pieces")
        other.commit()
        other.execute("PRAGMA wal_checkpoint")
    assert not stamp.end_check()
    assert not stamp.is_checked()


def test_changes_by_this_program_during_the_check_leave_the_file_checked(database: Database) -> None:
    stamp = FileStamp(database.file)
    stamp.remove()
    stamp.begin_check()
    database.write(add)
    make_checkpoint(database)
    assert stamp.end_check()
    assert stamp.is_checked()


def test_the_stamp_of_another_file_is_none(database: Database, tmp_path: Path) -> None:
    database.close()
    other = tmp_path / "other"
    other.mkdir()
    for name in ("x.sqlite", "x.sqlite-checked"):
        shutil.copy2(tmp_path / name, other / name)
    assert not FileStamp(other / "x.sqlite").is_checked()


@pytest.mark.parametrize("stored", [b"", b"[]", b"{}", b"\xff", b'{"state": 3}'])
def test_a_stamp_that_cannot_be_read_is_none(database: Database, stored: bytes) -> None:
    database.file.with_name("x.sqlite-checked").write_bytes(stored)
    assert not FileStamp(database.file).is_checked()
    pass_check(database.file)


def test_a_file_that_is_missing_or_no_database_is_never_checked(tmp_path: Path) -> None:
    for name in ("none", "garbage"):
        stamp = FileStamp(tmp_path / name)
        stamp.begin_check()
        assert not stamp.end_check()
        (tmp_path / "garbage").write_bytes(b"garbage" * 1_000)
    assert not (tmp_path / "none").exists()
    stored = '{"state": [], "salts": "", "moved": 0, "is_checked": true}'
    (tmp_path / "none-checked").write_text(stored, encoding="ascii")
    assert not FileStamp(tmp_path / "none").is_checked()


KILLED = f"""
import os, signal, sys
from pathlib import Path
from tests.database.engine.test_stamp import add, make_checkpoint, opened, pass_check
database = opened(Path(sys.argv[1]))
pass_check(database.file)
for _ in range(10):
    database.write(add)
make_checkpoint(database)
if sys.argv[2] == "goes on":
    database.write(add)  # which begins the log anew
os.kill(os.getpid(), {signal.SIGKILL})
"""


def killed(folder: Path, how: str) -> Path:
    """The file of a store whose process was killed after it had moved the log into it."""
    ended = subprocess.run([sys.executable, "-c", KILLED, str(folder), how], cwd=ROOT, check=False)
    assert ended.returncode == -signal.SIGKILL
    return folder / "x.sqlite"


@pytest.mark.parametrize("how", ["ends", "goes on"])
def test_a_killed_process_leaves_the_file_checked(tmp_path: Path, how: str) -> None:
    file = killed(tmp_path, how)
    assert file.with_name("x.sqlite-wal").stat().st_size
    FileStamp(file).remove_if_log_is_cut()
    assert FileStamp(file).is_checked()
    opened(tmp_path).close()
    assert FileStamp(file).is_checked()


@pytest.mark.parametrize("how", ["ends", "goes on"])
def test_a_missing_log_leaves_the_file_checked(tmp_path: Path, how: str) -> None:
    file = killed(tmp_path, how)
    file.with_name("x.sqlite-wal").unlink()
    FileStamp(file).remove_if_log_is_cut()
    assert FileStamp(file).is_checked()


def test_a_log_that_is_cut_before_what_the_file_has_got_makes_the_file_one_to_check(tmp_path: Path) -> None:
    file = killed(tmp_path, "ends")
    log = file.with_name("x.sqlite-wal")
    with log.open("r+b") as opened_log:
        opened_log.seek(log.stat().st_size // 2)
        opened_log.write(b"x" * 100)
    assert FileStamp(file).is_checked(), "the file itself is as it was left"
    FileStamp(file).remove_if_log_is_cut()
    assert not FileStamp(file).is_checked()
