"""Copies of a store's file, taken while others read and write it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from . import dialect

_PAGES_AT_ONCE = 2_000


def copy_store(source: Path, copy: Path, *, progress: Callable[[float], None]) -> None:
    """Write what the SQLite file `source` holds at this moment to the new file `copy`.

    Nobody is kept from writing meanwhile; what they write is not in the copy. progress: gets the share that is done,
    0 to 1. Raises StorageFailedError, StorageBusyError.
    """
    try:
        with closing(dialect.connect_read_only(source)) as reading, closing(sqlite3.connect(copy)) as writing:
            # Without a transaction around it, the copy would begin again whenever somebody writes.
            reading.execute("BEGIN")
            reading.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            reading.backup(
                writing,
                pages=_PAGES_AT_ONCE,
                progress=lambda _status, left, pages: progress((pages - left) / max(1, pages)),
                sleep=0,
            )
    except dialect.DRIVER_ERRORS as error:
        raise dialect.store_error(error) from error


def version_of(path: Path) -> int:
    """The version of the schema of one of our SQLite files; 0 where it has none. Raises StorageFailedError."""
    try:
        with closing(dialect.connect_read_only(path)) as connection:
            named = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
            if not connection.execute(named).fetchone()[0]:
                return 0
            return int(connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchone()[0])
    except dialect.DRIVER_ERRORS as error:
        raise dialect.store_error(error) from error


def is_sound(path: Path) -> bool:
    """Whether a SQLite file is whole as a file; says nothing of what it holds."""
    try:
        with closing(dialect.connect_read_only(path)) as connection:
            # The quick one takes a table whose key is not in the order of its columns for damaged.
            return bool(connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok")
    except dialect.DRIVER_ERRORS:
        return False


def holds_rows(path: Path, tables: Sequence[str]) -> bool:
    """Whether any of `tables` of a SQLite file has a row, or the file can't be asked; False where there is none."""
    if not path.exists() or not path.stat().st_size:
        return False
    try:
        with closing(dialect.connect_read_only(path)) as connection:
            there = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
            known = [table for table in tables if connection.execute(there, [table]).fetchone()[0]]
            rows = (f'SELECT EXISTS (SELECT 1 FROM "{table}")' for table in known)  # noqa: S608 - our own tables' names
            return any(connection.execute(row).fetchone()[0] for row in rows)
    except dialect.DRIVER_ERRORS:
        return True
