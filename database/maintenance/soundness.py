"""Whether the file of a store is whole, by SQLite's own check: at start, every day, and when SQLite stumbles.

SQLite may read wrong rows out of a damaged page without an error. Therefore a store that is known to be damaged answers
nothing (`DatabaseDamagedError`) until its file passes the check again, and neither does one at start
(`StoreBeingCheckedError`) until its file has passed, unless its stamp says that only this program has changed the file
since it passed before.
"""

from __future__ import annotations

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import TimeoutError as TooLong
from contextlib import closing
from pathlib import Path
from queue import Empty, SimpleQueue

from database.engine import sqlite
from database.engine.database import Database
from database.engine.errors import StorageBusyError, StorageFailedError, StoreError
from database.engine.stamp import FileStamp

log = logging.getLogger(__name__)
_DAILY, _HOURLY = 24 * 3600.0, 3600.0
_WHILE_DAMAGED = 2.0
_PROBE_EVERY = 5.0
_PROBE_SECONDS = 2.0
_QUICK_BYTES, _QUICK_SECONDS = 48 * 2**20, 10.0
"""A file of so many bytes is checked within about a second; on a busy machine it is waited for longer."""
_BYTES_A_SECOND = 60 * 2**20
_MOST_THREADS = 4
_CACHE_KB = 65_536
"""Of each connection, where somebody waits: an index is compared with its rows in the order of the rows."""
_LEAST_ROOM = 1 << 20
_PROBE = "UPDATE search_state SET indexed_seq = indexed_seq"
_SCHEMA = "sqlite_master"
_STORED = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY rootpage"


def find_damage(path: Path, *, first: str = _SCHEMA, threads: int = 1) -> tuple[str, str] | None:
    """A table that fails SQLite's check, and the complaint; None where all are whole or the file is missing.

    Table by table, so that no read transaction holds up the log of changes for long. first: is checked first. threads:
    check so many tables at once. Raises StorageBusyError, StorageFailedError where the file can't be read for another
    reason than damage.
    """
    if not path.exists():
        return None
    try:
        with closing(sqlite.connect_read_only(path)) as connection:
            tables = [_SCHEMA, *(name for (name,) in connection.execute(_STORED))]
    except sqlite.DRIVER_ERRORS as error:
        if sqlite.is_damage(error):
            return first, str(error)
        raise sqlite.store_error(error) from error
    return _Check(path, sorted(tables, key=lambda name: name != first)).run(threads)


class _Check:
    """One look through the tables of a file, by one thread or several, up to the first damage."""

    def __init__(self, path: Path, tables: Iterable[str]) -> None:
        self._path = path
        self._tables: SimpleQueue[str] = SimpleQueue()
        for table in tables:
            self._tables.put(table)
        self._is_waited_for = False
        self._damage: tuple[str, str] | None = None
        self._error: StoreError | None = None

    def run(self, threads: int) -> tuple[str, str] | None:
        """What `find_damage` returns, or raises. Several threads work where somebody waits for the result."""
        self._is_waited_for = threads > 1
        # Daemons: a process that ends waits for none of them.
        others = [threading.Thread(target=self._work, name="file-check", daemon=True) for _ in range(threads - 1)]
        for other in others:
            other.start()
        self._work()
        for other in others:
            other.join()
        if self._damage is None and self._error is not None:
            raise self._error
        return self._damage

    def _work(self) -> None:
        table = _SCHEMA
        try:
            with closing(sqlite.connect_read_only(self._path)) as connection:
                if self._is_waited_for:
                    connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
                while self._damage is None and self._error is None:
                    table = self._tables.get_nowait()
                    # The quick check takes a table whose key is not in the order of its columns for damaged.
                    (said,) = connection.execute(f'PRAGMA integrity_check("{table}")').fetchone()
                    if said != "ok":
                        self._damage = table, str(said)
        except Empty:
            return
        except sqlite.DRIVER_ERRORS as error:
            if sqlite.is_damage(error):
                self._damage = table, str(error)
            else:
                self._error = sqlite.store_error(error)
                self._error.__cause__ = error


def _nothing(_value: object = None) -> None:
    """For a watch that nobody listens to."""


class FileWatch:
    """Checks one file in a thread of its own, from its start to the end of the process.

    told: gets what is damaged, a sentence for the log, or None for a file that is whole, after each check. held: gets
    the seconds that a first check will probably take before which nothing may be read, and None when that has ended.
    ended: called after the first check.
    """

    def __init__(
        self,
        path: Path,
        *,
        told: Callable[[str | None], None],
        held: Callable[[float | None], None] = _nothing,
        ended: Callable[[], None] = _nothing,
    ) -> None:
        self._path = path
        self._told, self._held, self._ended = told, held, ended
        self._stamp = FileStamp(path)
        self._wanted = threading.Event()
        self._checked = threading.Event()
        self._stopped = False
        self._table = _SCHEMA
        self._threads = 1
        self._is_in_doubt = False
        self._thread = threading.Thread(target=self._watch, name="file-watch", daemon=True)

    def begin(self, *, wait: float) -> None:
        """Begin to check, and wait for the first result: up to `wait` seconds for a file that takes long.

        Such a file is checked behind where its stamp says that only this program has changed it since it passed. Any
        other one is held until it has passed.
        """
        size = self._path.stat().st_size if self._path.exists() else 0
        is_known = self._stamp.is_checked()
        if not is_known:
            self._threads = min(os.cpu_count() or 1, _MOST_THREADS)
            self._held(size / _BYTES_A_SECOND)
        self._thread.start()
        if size <= _QUICK_BYTES:
            self._checked.wait(max(wait, _QUICK_SECONDS))
        elif not is_known:
            self._checked.wait(wait)

    def check_soon(self) -> None:
        """SQLite has complained of damage."""
        self._stamp.remove()
        self._wanted.set()

    def stop(self) -> None:
        """End the watch; a check that is under way is not waited for."""
        self._stopped = True
        self._wanted.set()
        self._held(None)

    def _watch(self) -> None:
        while True:
            # In this order: `stop` is not overheard.
            self._wanted.clear()
            if self._stopped:
                return
            self._is_in_doubt = self._check()
            if not self._checked.is_set():
                self._threads = 1
                self._held(None)
                self._checked.set()
                self._ended()
            self._rest()

    def _rest(self) -> None:
        """Until the next check is wanted: soon, when others have changed the file, or after a day."""
        if self._is_in_doubt:
            self._wanted.wait(_WHILE_DAMAGED)
            return
        until = time.monotonic() + _DAILY
        while not self._wanted.wait(_HOURLY) and self._stamp.is_checked() and time.monotonic() < until:
            pass

    def _check(self) -> bool:
        """Whether the file may be damaged."""
        if not self._is_in_doubt:  # somebody may be putting it right
            self._stamp.begin_check()
        try:
            found = find_damage(self._path, first=self._table, threads=self._threads)
        except StoreError as error:
            log.warning("%s could not be checked: %s", self._path.name, error.message)
            return True
        if self._stopped:
            return False
        if found is None:
            self._told(None)
            self._stamp.end_check()
            return False
        self._stamp.remove()
        self._table, complaint = found
        self._told(f"{self._path.name} is damaged: table {self._table}: {complaint}")
        return True


def watch_store(store: Database, *, ended: Callable[[], None] = _nothing) -> FileWatch | None:
    """A watch over the file of `store`, which answers nothing while that is known to be damaged, or has to be checked.

    None for a store on a database server, which checks its own files. ended: see `FileWatch`.
    """
    if store.backend.file is None:
        return None

    def told(damage: str | None) -> None:
        if damage is not None and store.damage is None:
            log.error("%s; nothing is read from it until a backup is restored", damage)
        store.damage = damage

    def held(seconds: float | None) -> None:
        store.check_ends_at = None if seconds is None else time.monotonic() + seconds

    watch = FileWatch(store.backend.file, told=told, held=held, ended=ended)
    store.on_damage = watch.check_soon
    return watch


def require_usable(*, database: Database) -> None:
    """Raise the StoreError for which the store can't be read or written now; the writer is tried every five seconds.

    A disk with less than 1 MB of room counts as full.
    """
    if shutil.disk_usage(database.folder).free < _LEAST_ROOM:
        # A small write may still fit into the log of changes; a message may not.
        raise StorageFailedError("The disk is full.")
    with database.reading() as connection:
        connection.exec_driver_sql("SELECT 1 FROM search_state").first()
    if time.monotonic() >= database.next_probe:
        database.next_probe = time.monotonic() + _PROBE_EVERY
        probe = database.submit(lambda connection: connection.exec_driver_sql(_PROBE).rowcount)
        try:
            probe.result(_PROBE_SECONDS)
        except TooLong:
            raise StorageBusyError("The store takes long to write.") from None
    if database.write_failure is not None:
        raise StorageFailedError(database.write_failure.message)
