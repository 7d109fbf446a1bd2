"""Checkpoints of SQLite: what was committed is moved from the write-ahead log into the file, beside the writer.

Left to itself, SQLite does so within the commit that makes the log longer than 1,000 pages. Whoever commits then waits
for two flushes and for pages all over the file: a hundred times as long as for any other commit.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from .sqlite import LOG_BYTES, connect_for_checkpoints

log = logging.getLogger(__name__)
_PASSIVE = "PRAGMA wal_checkpoint(PASSIVE)"


class Checkpoints:
    """The checkpoints of one file, by a thread that begins when the log has first become long.

    writing: held by whoever writes. Readers are never waited for, nor do they wait.
    """

    def __init__(self, file: Path, *, writing: threading.Lock) -> None:
        self._file = file
        self._log = file.with_name(f"{file.name}-wal")
        self._writing = writing
        self._long = LOG_BYTES
        self._is_due = threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def after_commit(self) -> None:
        """Ask for a checkpoint where the log has become long; it is not waited for."""
        try:
            size = self._log.stat().st_size
        except OSError:
            return
        # A log that begins anew is cut to `LOG_BYTES` first.
        if size <= LOG_BYTES:
            self._long = LOG_BYTES
        elif size > self._long:
            self._long = size + LOG_BYTES
            self._begin()

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
                self._thread = threading.Thread(target=self._work, name="store-checkpoints", daemon=True)
                self._thread.start()
        self._is_due.set()

    def _work(self) -> None:
        while True:
            self._is_due.wait()
            self._is_due.clear()
            if self._closed:
                return
            try:
                self._make()
            except (sqlite3.Error, OSError) as error:
                log.warning("the log of %s could not be moved into it, and grows: %s", self._file.name, error)

    def _make(self) -> None:
        with closing(connect_for_checkpoints(self._file)) as connection:
            connection.execute(_PASSIVE)
            if self._log.stat().st_size > 2 * LOG_BYTES:
                # What came meanwhile is little. Once all of it is moved, the next transaction begins the log anew.
                with self._writing:
                    connection.execute(_PASSIVE)


class NoCheckpoints:
    """Of a database server, which makes its own."""

    def after_commit(self) -> None:
        """Nothing is asked for."""

    def close(self) -> None:
        """Nothing is waited for."""
