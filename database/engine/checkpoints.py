"""Checkpoints of SQLite: what was committed is moved from the write-ahead log into the file, beside the writer.

Left to itself, SQLite does so within the commit that makes the log longer than 1,000 pages. Whoever commits then waits
for two flushes and for pages all over the file: a hundred times as long as for any other commit.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from .sqlite import LOG_BYTES, connect_for_checkpoints, move_log
from .stamp import FileStamp

log = logging.getLogger(__name__)
_TIMES = 4
_FEW_PAGES = 1_000
"""So few may be left in the log before the rest is moved while the writer waits: as many as SQLite moves by itself."""


class Checkpoints:
    """The checkpoints of one file, by a thread that begins when the log has first become long.

    writing: held by whoever writes. Readers are never waited for, nor do they wait.
    """

    def __init__(self, file: Path, *, writing: threading.Lock) -> None:
        self._file = file
        self._stamp = FileStamp(file)
        # SQLite keeps the log beside the file that a link leads to.
        real = file.resolve()
        self._log = real.with_name(f"{real.name}-wal")
        self._writing = writing
        self._long = LOG_BYTES
        self._is_due = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def after_commit(self) -> None:
        """Ask for a checkpoint where the log has become long; it is not waited for. Raises nothing."""
        try:
            size = self._log.stat().st_size
        except OSError:
            return
        # A log that begins anew is cut to `LOG_BYTES`, or to what began it.
        if size < self._long - LOG_BYTES:
            self._long = LOG_BYTES
        if size > self._long:
            self._long = size + LOG_BYTES
            self._begin()

    def closing_files(self) -> AbstractContextManager[object]:
        """Around the closing of connections: SQLite moves the log into the file when the last one is closed."""
        return self._stamp.moving()

    def close(self) -> None:
        """Wait for the checkpoint that is being made, and make no further one."""
        with self._starting:
            self._closed = True
            thread = self._thread
        if thread is not None:
            self._is_due.set()
            thread.join()

    def _begin(self) -> None:
        with self._starting:
            if self._closed:
                return
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="store-checkpoints", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    log.warning("no thread moves the log of %s into it: %s", self._file.name, error)
                    return
                self._thread = thread
        self._is_due.set()

    def _work(self) -> None:
        while True:
            self._is_due.wait()
            self._is_due.clear()
            if self._closed:
                return
            try:
                self._make()
            except Exception as error:  # noqa: BLE001 - the next time it may go well
                log.warning("the log of %s could not be moved into it, and grows: %s", self._file.name, error)

    def _make(self) -> None:
        with closing(connect_for_checkpoints(self._file)) as connection:
            if self._moved_beside(connection) and self._log.stat().st_size > 2 * LOG_BYTES:
                # What has come since is little. Once all of it is moved, the next transaction begins the log anew.
                with self._writing, self._stamp.moving() as move:
                    move.note(move_log(connection))

    def _moved_beside(self, connection: sqlite3.Connection) -> bool:
        """Move the log while others write; whether little is left, which a reader that needs the file prevents."""
        with self._stamp.moving() as move:
            for _ in range(_TIMES):
                made = move.note(move_log(connection))
                if made is None:
                    return False
                if made.left <= _FEW_PAGES:
                    return True
        return False


class NoCheckpoints:
    """Of a database server, which makes its own."""

    def after_commit(self) -> None:
        """Nothing is asked for."""

    def closing_files(self) -> AbstractContextManager[object]:
        """Nothing is moved."""
        return nullcontext()

    def close(self) -> None:
        """Nothing is waited for."""
