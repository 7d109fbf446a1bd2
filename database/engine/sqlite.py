"""SQLite: connections and engines, its errors as errors of the store, copies of its file taken while others use it."""

from __future__ import annotations

import itertools
import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, replace
from operator import methodcaller
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote

import orjson
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import QueuePool
from sqlalchemy.sql.compiler import SQLCompiler

from .backend import UNEXPLAINED, ServerHold
from .clock import StoreTime
from .errors import DatabaseDamagedError, SearchIndexDamagedError, StorageBusyError, StorageFailedError, StoreError

DRIVER_ERRORS = (DBAPIError, sqlite3.Error, UnicodeDecodeError)
"""What SQLAlchemy and the driver raise. The driver decodes names of the stored schema, which may hold a bad byte."""

DriverConnection = sqlite3.Connection
"""A connection of the driver."""

_PRIMARY = 0xFF
"""The part of a result code that names its kind; the rest says what exactly happened."""

BUSY_TIMEOUT_MS = 10_000
READERS = 24
MAPPED_BYTES, MAPPED_BY_WRITER = 256 * 2**20, 32 * 2**20
"""So much of the file a connection maps, which counts as memory of the process. Searches are slower with less; writing
is not.
"""
LOG_BYTES = 4 * 2**20
"""A write-ahead log that is longer is moved into the file (`checkpoints`), and cut to so much when it begins anew."""
_PAGES_OF_LONGEST_LOG = 16_000
"""What is not moved in time beside the writer, a commit moves."""
_COARSE_NS = 50_000_000
"""Writes so close to each other may leave a file with the same time of its last change."""
ANALYSIS_LIMIT = 400
"""So many rows of each index are read to make statistics of it."""


def connect_sqlite(
    path: Path | str,
    *,
    synchronous: str = "normal",
    busy_timeout_ms: int = BUSY_TIMEOUT_MS,
    mapped_bytes: int = MAPPED_BYTES,
    moves_log: bool = True,
) -> sqlite3.Connection:
    """A plain SQLite connection with the pragmas that every one of ours has.

    Transactions are begun explicitly (`isolation_level=None`), so that a reader sees one snapshot and a writer takes
    its lock at once. busy_timeout_ms: how long a statement waits for what another process has locked. moves_log: a
    commit moves a log of 1,000 pages into the file; otherwise `checkpoints` does so.
    """
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
    connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
    _turn_on_wal(connection, wait_ms=busy_timeout_ms)
    connection.execute(f"PRAGMA synchronous = {'FULL' if synchronous == 'full' else 'NORMAL'}")
    connection.execute("PRAGMA foreign_keys = ON")
    # Deleted text is overwritten at once, instead of when its page is used again. Many builds do so by default.
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA mmap_size = {mapped_bytes}")
    connection.execute(f"PRAGMA analysis_limit = {ANALYSIS_LIMIT}")
    if not moves_log:
        connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_OF_LONGEST_LOG}")
        connection.execute(f"PRAGMA journal_size_limit = {LOG_BYTES}")
    return connection


def connect_for_checkpoints(file: Path) -> sqlite3.Connection:
    """A plain connection to a file that is there, which moves its log into it. Raises sqlite3.Error."""
    connection = sqlite3.connect(f"file:{quote(os.fsencode(file))}?mode=rw", uri=True, isolation_level=None)
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def written_state(file: Path) -> object:
    """Equal to an earlier one if nobody, in whatever process, has committed to the file since; takes microseconds.

    It opens nothing. Equal to nothing just after a commit, when the next one might leave the same state, and where the
    file can't be looked at.
    """
    real = file.resolve()
    state: list[tuple[int, ...] | None] = []
    for part in (real, real.with_name(f"{real.name}-wal")):
        try:
            found = part.stat()
        except FileNotFoundError:
            state.append(None)
            continue
        except OSError:
            return object()
        if abs(time.time_ns() - found.st_mtime_ns) < _COARSE_NS:
            return object()
        state.append((found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns))
    return state


class LogMoved(NamedTuple):
    """How many pages a write-ahead log has, and how many of them, the first ones, the file has got."""

    pages: int
    moved: int

    @property
    def left(self) -> int:
        """How many pages the log alone has."""
        return self.pages - self.moved


def move_log(connection: sqlite3.Connection) -> LogMoved | None:
    """Move what no reader needs as it was from the log into the file, waiting for nobody.

    Returns None where another connection is moving it. Raises sqlite3.Error.
    """
    is_busy, pages, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return None if is_busy else LogMoved(pages=max(pages, 0), moved=max(moved, 0))


def _turn_on_wal(connection: sqlite3.Connection, *, wait_ms: int) -> None:
    """Turn on the write-ahead log, which SQLite refuses at once while another process does so for a new file."""
    until = time.monotonic() + wait_ms / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & _PRIMARY != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.005)
        else:
            return


def connect_read_only(path: Path) -> sqlite3.Connection:
    """A plain connection that changes nothing, for long looks beside a running server.

    What it keeps for itself meanwhile goes to the disk, since it may be much. Raises sqlite3.Error.
    """
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute("PRAGMA temp_store = FILE")
    return connection


_LONGEST_UNTRUSTED = 2**24
"""In bytes, of one value."""
_STEPS_AT_ONCE, _MOST_STEPS = 1_000_000, 2_000_000_000
"""Of SQLite's virtual machine: reading a million rows takes a tenth of them."""


def connect_untrusted(path: Path) -> sqlite3.Connection:
    """A plain connection to a file that may come from anybody, for reading: what its schema computes is bounded.

    Nothing is written beside the file. Raises sqlite3.Error.
    """
    # A file without a log is opened as immutable, so that SQLite makes none beside it.
    immutable = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    connection = sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro{immutable}", uri=True)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_UNTRUSTED)
    connection.execute("PRAGMA trusted_schema = OFF")
    steps = itertools.count(_STEPS_AT_ONCE, _STEPS_AT_ONCE)
    connection.set_progress_handler(lambda: next(steps) > _MOST_STEPS, _STEPS_AT_ONCE)
    return connection


def stored_tables(connection: Connection) -> set[str]:
    """The names of the tables that are stored in the file: virtual ones run code of their modules."""
    listed = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    return set(connection.exec_driver_sql(listed).scalars())


def bare_engine(path: Path, *, connections: int, **pragmas: Any) -> Engine:
    """An engine over `path` with at most so many connections, whose transactions somebody else begins.

    pragmas: see `connect_sqlite`.
    """
    return create_engine(
        "sqlite://",
        creator=lambda: connect_sqlite(path, **pragmas),
        poolclass=QueuePool,
        pool_size=connections,
        max_overflow=0,
        pool_reset_on_return="rollback",
        json_serializer=_to_json,
        json_deserializer=orjson.loads,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SQLiteFile:
    """The SQLite file at `file` as a `database.engine.backend.Backend`.

    synchronous: "normal" or "full". reader_timeout_ms: how long a reader waits for what another process has locked.
    mapped_bytes: of the file, by each reader. prepare: what each new connection is given, such as functions.
    """

    file: Path
    synchronous: str = "normal"
    reader_timeout_ms: int = BUSY_TIMEOUT_MS
    mapped_bytes: int = MAPPED_BYTES
    prepare: Callable[[DriverConnection], None] | None = None
    readers: ClassVar[int] = READERS
    is_shared: ClassVar[bool] = False
    errors: ClassVar[tuple[type[Exception], ...]] = DRIVER_ERRORS

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.file.name

    def engine(self, *, connections: int, writing: bool) -> Engine:
        """An engine over the file; the caller begins its transactions with `beginning`."""
        engine = bare_engine(
            self.file,
            synchronous=self.synchronous,
            connections=connections,
            busy_timeout_ms=BUSY_TIMEOUT_MS if writing else self.reader_timeout_ms,
            mapped_bytes=MAPPED_BY_WRITER if writing else self.mapped_bytes,
            moves_log=not writing,
        )
        if (prepare := self.prepare) is not None:
            event.listen(engine, "connect", lambda connection, _record: prepare(connection))
        return engine

    def unmapped(self) -> SQLiteFile:
        """The same file, of which readers map nothing."""
        return replace(self, mapped_bytes=0)

    def begins(self, *, writing: bool) -> Callable[[Any], object]:
        """What begins a transaction; one that will write takes its lock at once."""
        return methodcaller("execute", beginning(writing=writing))

    def check(self, connection: Any) -> None:
        """A file ends no connection."""

    def held_for_server(self) -> AbstractContextManager[ServerHold]:
        """Always held, and alone: the lock of the data folder, which holds the file, is enough."""
        return nullcontext(_HeldWithItsFolder())

    def store_error(self, error: Exception) -> StoreError:
        """The StoreError for `error`, by SQLite's result code."""
        return store_error(error)


class _HeldWithItsFolder:
    def is_held(self) -> bool:
        return True

    def is_alone(self) -> bool:
        return True

    def share(self) -> None:
        pass

    def take_again(self, *, after: float) -> None:
        pass


@compiles(StoreTime, "sqlite")
def _store_time(element: StoreTime, compiler: SQLCompiler, **how: Any) -> str:
    seconds = compiler.process(element.clauses, **how)
    return f"strftime('%Y-%m-%dT%H:%M:%f000Z', 'now', printf('%+.3f seconds', {seconds}))"


def beginning(*, writing: bool) -> str:
    """The statement that begins a transaction; one that will write takes its lock at once."""
    return "BEGIN IMMEDIATE" if writing else "BEGIN"


def store_error(error: Exception) -> StoreError:
    """The StoreError for `error`, one of DRIVER_ERRORS, by SQLite's result code."""
    if _is_index_damage(error):
        return SearchIndexDamagedError(statement=getattr(error, "statement", None) or "")
    if is_damage(error):
        return DatabaseDamagedError()
    code = _result_code(error)
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StorageBusyError("The database is busy. Try again in a moment.")
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return StorageFailedError("The disk is full or failing: nothing was stored. Free some space and try again.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return StorageFailedError("The data folder can't be written. Check its permissions, then try again.")
    return StorageFailedError(UNEXPLAINED)


def is_damage(error: Exception) -> bool:
    """Whether `error`, one of DRIVER_ERRORS, says that the file holds what SQLite would never have written."""
    cause = getattr(error, "orig", None) or error
    if isinstance(cause, UnicodeDecodeError):
        return True
    if _result_code(cause) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return not _is_index_damage(cause)
    # The driver raises this one itself, without a code, for a stored text that is no UTF-8.
    return isinstance(cause, sqlite3.OperationalError) and "Could not decode to UTF-8" in str(cause)


def _is_index_damage(error: Exception) -> bool:
    """Whether `error` says that a full-text index is damaged, in a file that may be whole."""
    return _extended_code(error) == sqlite3.SQLITE_CORRUPT_VTAB


def _result_code(error: Exception) -> int | None:
    """SQLite's primary result code; None for an error that did not come out of SQLite."""
    extended = _extended_code(error)
    return None if extended is None else extended & _PRIMARY


def _extended_code(error: Exception) -> int | None:
    code: int | None = getattr(getattr(error, "orig", None) or error, "sqlite_errorcode", None)
    return code


def _to_json(value: Any) -> str:
    return orjson.dumps(value).decode()


_PAGES_AT_ONCE = 2_000


def copy_store(source: Path, copy: Path, *, progress: Callable[[float], None]) -> None:
    """Write what the SQLite file `source` holds at this moment to the new file `copy`.

    Nobody is kept from writing meanwhile; what they write is not in the copy. progress: gets the share that is done,
    0 to 1. Raises StorageFailedError, StorageBusyError.
    """
    try:
        with closing(connect_read_only(source)) as reading, closing(sqlite3.connect(copy)) as writing:
            # Without a transaction around it, the copy would begin again whenever somebody writes.
            reading.execute("BEGIN")
            reading.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
            reading.backup(
                writing,
                pages=_PAGES_AT_ONCE,
                progress=lambda _status, left, pages: progress((pages - left) / max(1, pages)),
                sleep=0,
            )
    except DRIVER_ERRORS as error:
        raise store_error(error) from error


def version_of(path: Path) -> int:
    """The version of the schema of one of our SQLite files; 0 where it has none. Raises StorageFailedError."""
    try:
        with closing(connect_read_only(path)) as connection:
            named = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"
            if not connection.execute(named).fetchone()[0]:
                return 0
            return int(connection.execute("SELECT COALESCE(MAX(version), 0) FROM schema_version").fetchone()[0])
    except DRIVER_ERRORS as error:
        raise store_error(error) from error


def is_sound(path: Path) -> bool:
    """Whether a SQLite file is whole as a file; says nothing of what it holds."""
    try:
        with closing(connect_read_only(path)) as connection:
            # The quick one takes a table whose key is not in the order of its columns for damaged.
            return bool(connection.execute("PRAGMA integrity_check(1)").fetchone()[0] == "ok")
    except DRIVER_ERRORS:
        return False


def holds_rows(path: Path, tables: Sequence[str]) -> bool:
    """Whether any of `tables` of a SQLite file has a row, or the file can't be asked; False where there is none."""
    if not path.exists() or not path.stat().st_size:
        return False
    try:
        with closing(connect_read_only(path)) as connection:
            there = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
            known = [table for table in tables if connection.execute(there, [table]).fetchone()[0]]
            rows = (f'SELECT EXISTS (SELECT 1 FROM "{table}")' for table in known)  # noqa: S608 - our own tables' names
            return any(connection.execute(row).fetchone()[0] for row in rows)
    except DRIVER_ERRORS:
        return True


def open_scratch(*tables: str) -> sqlite3.Connection:
    """A database for what is needed for a while: on disk, with 8 MB of it in memory, gone when it is closed.

    tables: statements that create its tables. All is one transaction. Raises sqlite3.Error.
    """
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    # Nothing of it outlives the process, so nothing has to be safe from a crash.
    for statement in ("PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF", "PRAGMA cache_size=-8192", *tables, "BEGIN"):
        connection.execute(statement)
    return connection
