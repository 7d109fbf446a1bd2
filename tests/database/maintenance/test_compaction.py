"""After compacting, neither the file nor its log holds what was deleted."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from database.engine.errors import StorageBusyError
from database.engine.sqlite import connect_sqlite
from database.maintenance import compaction

# SQLite locks this byte of its index of the log while a checkpoint is made.
_HOLD = """
import fcntl, sys
with open(sys.argv[1], "r+b") as index:
    fcntl.lockf(index, fcntl.LOCK_EX, 1, 121)
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A SQLite file with a deleted word in it, in use."""
    file = tmp_path / "x.sqlite"
    with closing(connect_sqlite(file)) as connection:
        connection.execute("CREATE TABLE said (text TEXT)")
        connection.execute("INSERT INTO said VALUES ('marzipan'), ('tea')")
        connection.execute("DELETE FROM said WHERE text = 'marzipan'")
        yield file


@contextmanager
def checkpoint_under_way(file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another process makes a checkpoint until its standard input is closed."""
    command = [sys.executable, "-c", _HOLD, f"{file}-shm"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == b"held\n"
        yield holding


def holds(file: Path, word: bytes) -> bool:
    """Whether the file or its log has the word."""
    return word in file.read_bytes() or word in file.with_name("x.sqlite-wal").read_bytes()


def test_a_checkpoint_of_somebody_else_is_waited_for(file: Path) -> None:
    with checkpoint_under_way(file) as holding:
        assert holding.stdin is not None
        threading.Timer(0.5, holding.stdin.close).start()
        compaction.compact_file(file)
    assert not holds(file, b"marzipan")
    assert holds(file, b"tea")


def test_a_log_that_cannot_be_emptied_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "BUSY_TIMEOUT_MS", 100)
    with checkpoint_under_way(file), pytest.raises(StorageBusyError, match="can't be emptied"):
        compaction.compact_file(file)
