"""The stamp of a file tells whether this program alone has changed the file since SQLite's check passed on it."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from database.connection import open_database
from database.engine import checkpoints
from database.engine.database import Database
from database.engine.sqlite import LOG_BYTES, SQLiteFile, connect_for_checkpoints, move_log
from database.engine.stamp import FileStamp
from database.maintenance.compaction import compact_file
from tests.preloaded import start_preloaded
from truth_management_system import PKBConfig, PKBDatabase

PIECE = 64 * 1024


def opened(folder: Path) -> Database:
    """A store with one table."""
    return with_table(Database(SQLiteFile(file=folder / "x.sqlite"), folder=folder))


def with_table(database: Database) -> Database:
    """The store, in which there is a table to write to."""
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
    with database.reading() as reading:
        assert reading.exec_driver_sql("SELECT COUNT(*) FROM pieces").scalar() == 3
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


def test_nobody_looks_at_the_stamp_while_the_log_is_moved(database: Database) -> None:
    seen: list[bool] = []
    looking = threading.Thread(target=lambda: seen.append(FileStamp(database.file).is_checked()))
    stamp = FileStamp(database.file)
    with stamp.moving() as move, closing(connect_for_checkpoints(database.file)) as connection:
        database.write(add)
        move.note(move_log(connection))
        looking.start()
        looking.join(0.5)
        assert seen == []
    looking.join(60)
    assert seen == [True]


def test_where_something_else_moves_the_log_meanwhile_the_file_is_one_to_check(database: Database) -> None:
    with FileStamp(database.file).moving() as move:
        move.note(None)
        with closing(sqlite3.connect(database.file)) as other, other:
            other.execute("DELETE FROM pieces")
            other.commit()
            other.execute("PRAGMA wal_checkpoint")
    assert not FileStamp(database.file).is_checked()


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
from tests.database.engine import test_stamp
from tests.database.engine.test_stamp import add, make_checkpoint, pass_check
database = getattr(test_stamp, sys.argv[3])(Path(sys.argv[1]))
pass_check(database.file)
for _ in range(10):
    database.write(add)
make_checkpoint(database)
if sys.argv[2] == "goes on":
    database.write(add)  # which begins the log anew
os.kill(os.getpid(), {signal.SIGKILL})
"""


def killed(folder: Path, how: str, *, opening: Callable[[Path], Database] = opened) -> Path:
    """The file of a store whose process was killed after it had moved the log into it."""
    ended = start_preloaded(KILLED, str(folder), how, opening.__name__).ended()
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    (stamp,) = folder.glob("*-checked")
    return stamp.with_name(stamp.name.removesuffix("-checked"))


def cut_log(file: Path) -> None:
    """Spoil the log from its middle on: SQLite reads it up to there."""
    log = file.with_name(f"{file.name}-wal")
    with log.open("r+b") as opened_log:
        opened_log.seek(log.stat().st_size // 2)
        opened_log.write(b"x" * 100)


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
    cut_log(file)
    assert FileStamp(file).is_checked(), "the file itself is as it was left"
    FileStamp(file).remove_if_log_is_cut()
    assert not FileStamp(file).is_checked()


def opened_store(folder: Path) -> Database:
    """The store of conversations, with that table, too."""
    return with_table(open_database(folder))


def opened_knowledge(folder: Path) -> Database:
    """The store of memories, with that table, too."""
    return with_table(PKBDatabase(PKBConfig(db_path=folder / "pkb.sqlite")).connect().store)


@pytest.mark.parametrize("opening", [opened_store, opened_knowledge])
@pytest.mark.parametrize("is_cut", [True, False])
def test_whoever_opens_a_store_looks_at_its_log_first(
    tmp_path: Path, opening: Callable[[Path], Database], *, is_cut: bool
) -> None:
    file = killed(tmp_path, "ends", opening=opening)
    if is_cut:
        cut_log(file)
    opening(tmp_path).close()
    assert FileStamp(file).is_checked() is not is_cut


def test_a_file_whose_log_can_not_be_looked_at_is_one_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = killed(tmp_path, "ends")

    def failing(_file: Path) -> sqlite3.Connection:
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr("database.engine.stamp.connect_for_checkpoints", failing)
    FileStamp(file).remove_if_log_is_cut()
    assert not FileStamp(file).is_checked()
