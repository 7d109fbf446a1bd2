"""Opening the store of a data folder."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from database.engine.backend import Backend
from database.engine.database import Database
from database.engine.errors import StorageFailedError
from database.engine.sqlite import SQLiteFile, connect_sqlite
from database.engine.stamp import FileStamp
from database.search.indexing import index_mending
from database.transfer.mark import refuse_half_filled

from .migrations import migrate

T = TypeVar("T")
_stores: dict[str, Database] = {}
_urls: dict[str, str] = {}
"""By data folder, the URL of the PostgreSQL database that holds its store."""
_lock = threading.Lock()


def create_connection(path: str | Path) -> sqlite3.Connection:
    """A plain connection to the SQLite file at `path`, with our pragmas; for scripts and inspection.

    It commits each statement by itself unless `BEGIN` is executed.
    """
    return connect_sqlite(path)


def create_tables(*, users_dir: str | Path) -> None:
    """Bring the store of `users_dir` to today's schema. Safe to run twice, and by two processes at once.

    Raises DatabaseTooNewError for a store that a newer version wrote.
    """
    open_store(users_dir)


def open_store(users_dir: str | Path, *, synchronous: str = "normal", database_url: str | None = None) -> Database:
    """The database of the data folder `users_dir`, opened and migrated once, shared by all callers in this process.

    database_url: of a PostgreSQL database that holds the store, from this call on; otherwise `users.db` in the folder
    does. synchronous: of the SQLite file. Raises StorageFailedError, DatabaseTooNewError.
    """
    key = str(users_dir)
    store = _stores.get(key)
    if store is not None:
        return store
    with _lock:
        if key not in _stores:
            if database_url is not None:
                _urls[key] = database_url
            _stores[key] = open_database(Path(users_dir), synchronous=synchronous, database_url=_urls.get(key))
        return _stores[key]


def database_url_of(users_dir: str | Path) -> str | None:
    """The URL of the PostgreSQL database that holds the store of `users_dir`; None where SQLite's files do."""
    return _urls.get(str(users_dir))


def open_database(
    folder: Path, *, synchronous: str = "normal", database_url: str | None = None, may_be_half_filled: bool = False
) -> Database:
    """A database of the caller's own in `folder`, migrated; the caller closes it.

    may_be_half_filled: for a transfer into it. Raises StoreBeingFilledError else where one has not ended.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageFailedError(f"The data folder can't be written: {error.strerror or error}.") from error
    opened = unmigrated_database(folder, synchronous=synchronous, database_url=database_url)
    try:
        if opened.backend.file is not None:
            FileStamp(opened.backend.file).remove_if_log_is_cut()
        migrate(opened)
        if not may_be_half_filled:
            refuse_half_filled(opened)
        if opened.backend.file is not None:
            opened.mend_indexes = index_mending()
    except BaseException:
        opened.close()
        raise
    return opened


def unmigrated_database(folder: Path, *, synchronous: str = "normal", database_url: str | None = None) -> Database:
    """A database of the caller's own as it is, which may hold no store, or one of an older schema."""
    return Database(_backend(folder, url=database_url, synchronous=synchronous), folder=folder)


def _backend(folder: Path, *, url: str | None, synchronous: str) -> Backend:
    if url is None:
        return SQLiteFile(file=folder / "users.db", synchronous=synchronous)
    # psycopg is imported only where a database server is used.
    from database.engine.postgresql import database_at

    return database_at(url)


def database_of(users_dir: str | Path | None) -> Database | None:
    """The database of a data folder; None where no folder is named."""
    return None if users_dir is None else open_store(users_dir)


def by_folder(function: Callable[..., T]) -> Callable[..., T]:
    """`function`, which takes `database`, for callers that give `users_dir` instead; arguments are keyword-only."""

    @wraps(function)
    def call(*, users_dir: str | Path, **arguments: Any) -> T:
        return function(database=open_store(users_dir), **arguments)

    return call


def close_store(users_dir: str | Path) -> None:
    """Finish what is queued and let go of the files of `users_dir`; a no-op where it is not open."""
    with _lock:
        store = _stores.pop(str(users_dir), None)
    if store is not None:
        store.close()
