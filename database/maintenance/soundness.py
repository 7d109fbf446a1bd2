"""Whether the file of a store is whole, by SQLite's own check: at start, every day, and when SQLite stumbles.

SQLite may read wrong rows out of a damaged page without an error. Therefore a store that is known to be damaged answers
nothing (`DatabaseDamagedError`) until its file passes the check again.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import TimeoutError as TooLong
from contextlib import closing
from pathlib import Path

from database.engine import sqlite
from database.engine.database import Database
from database.engine.errors import StorageBusyError, StorageFailedError, StoreError

log = logging.getLogger(__name__)
_DAILY = 24 * 3600.0
_WHILE_DAMAGED = 2.0
_PROBE_EVERY = 5.0
_PROBE_SECONDS = 2.0
_LEAST_ROOM = 1 << 20
_PROBE = "UPDATE search_state SET indexed_seq = indexed_seq"
_SCHEMA = "sqlite_master"
_STORED = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0 ORDER BY rootpage"


def find_damage(path: Path, *, first: str = _SCHEMA) -> tuple[str, str] | None:
    """The first table that fails SQLite's check, and the complaint; None where all are whole or the file is missing.

    Table by table, so that no read transaction holds up the log of changes for long. first: is checked first. Raises
    StorageBusyError, StorageFailedError where the file can't be read for another reason than damage.
    """
    if not path.exists():
        return None
    table = first
    try:
        with closing(sqlite.connect_read_only(path)) as connection:
            tables = [_SCHEMA, *(name for (name,) in connection.execute(_STORED))]
            for table in sorted(tables, key=lambda name: name != first):
                # The quick check takes a table whose key is not in the order of its columns for damaged.
                (said,) = connection.execute(f'PRAGMA integrity_check("{table}")').fetchone()
                if said != "ok":
                    return table, str(said)
    except sqlite.DRIVER_ERRORS as error:
        if sqlite.is_damage(error):
            return table, str(error)
        raise sqlite.store_error(error) from error
    return None


class FileWatch:
    """Checks one file in a thread of its own, from its start to the end of the process.

    told: gets what is damaged, a sentence for the log, or None for a file that is whole, after each check.
    """

    def __init__(self, path: Path, *, told: Callable[[str | None], None]) -> None:
        self._path = path
        self._told = told
        self._wanted = threading.Event()
        self._checked = threading.Event()
        self._stopped = False
        self._table = _SCHEMA
        self._thread = threading.Thread(target=self._watch, name="file-watch", daemon=True)

    def begin(self, *, wait: float) -> None:
        """Begin to check, and wait for the first result up to `wait` seconds; a large file is checked behind."""
        self._thread.start()
        self._checked.wait(wait)

    def check_soon(self) -> None:
        """SQLite has complained of damage."""
        self._wanted.set()

    def stop(self) -> None:
        """End the watch; a check that is under way is not waited for."""
        self._stopped = True
        self._wanted.set()

    def _watch(self) -> None:
        while True:
            # In this order: `stop` is not overheard.
            self._wanted.clear()
            if self._stopped:
                return
            damaged = self._check()
            self._checked.set()
            self._wanted.wait(_WHILE_DAMAGED if damaged else _DAILY)

    def _check(self) -> bool:
        try:
            found = find_damage(self._path, first=self._table)
        except StoreError as error:
            log.warning("%s could not be checked: %s", self._path.name, error.message)
            return True
        if self._stopped:
            return False
        if found is None:
            self._told(None)
            return False
        self._table, complaint = found
        self._told(f"{self._path.name} is damaged: table {self._table}: {complaint}")
        return True


def watch_store(store: Database) -> FileWatch | None:
    """A watch over the file of `store`, which answers nothing while that is known to be damaged.

    None for a store on a database server, which checks its own files.
    """
    if store.backend.file is None:
        return None

    def told(damage: str | None) -> None:
        if damage is not None and store.damage is None:
            log.error("%s; nothing is read from it until a backup is restored", damage)
        store.damage = damage

    watch = FileWatch(store.backend.file, told=told)
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
