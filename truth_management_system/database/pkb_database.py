"""The store of the knowledge base: a face of the engine that all stores share, and the life of its schema."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, NestedTransaction, inspect
from sqlalchemy.exc import IntegrityError

from database.engine.backend import UNREACHABLE, Backend, Outage
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import SearchIndexDamagedError, StorageBusyError, StoreError
from database.engine.sqlite import SQLiteFile
from database.engine.stamp import FileStamp
from database.engine.statements import Prepared
from database.maintenance.statistics import renew_statistics
from sentences import say

from ..config import PKBConfig
from ..errors import (
    InvalidKnowledgeError,
    KnowledgeBusyError,
    KnowledgeIndexDamagedError,
    KnowledgeTooNewError,
    KnowledgeUnavailableError,
)
from ..schema import FIRST_VERSION, SCHEMA_VERSION, postgresql, sqlite, statements

__all__ = ["Executed", "PKBDatabase", "Prepared", "get_database", "get_memory_database"]

Parameters = Sequence[Any]
Row = Mapping[str, Any]
# Writers leave readers alone; a process that locks the whole file does so for long, and an answer would rather do
# without memories than wait.
_READERS_WAIT_MS = 1_000
_PATIENCE = 10.0
"""So many seconds a damaged index may take to be made anew for who is to search or write again at once."""


@dataclass(frozen=True, slots=True)
class Executed:
    """What a statement did: the rows it gave (mappings by column), and how many it changed."""

    rows: Sequence[Row]
    rowcount: int

    def fetchone(self) -> Row | None:
        """The first row, if there is one."""
        return self.rows[0] if self.rows else None

    def fetchall(self) -> Sequence[Row]:
        """All rows."""
        return self.rows


class PKBDatabase:
    """One knowledge base. Safe to use from any thread: many read, one writes at a time.

    Statements within `transaction()` belong to one change; every other statement is one by itself. Errors of the store
    are raised as KnowledgeUnavailableError, but for IntegrityError, since only the caller knows what a conflict means,
    and for values that no column can hold, which are an InvalidKnowledgeError.

    outage: see `Database`. statements: how many were run so far. failures: how often the store could not be read or
    written for another reason than a lock, or a database server that is away.
    """

    def __init__(self, config: PKBConfig, *, outage: Outage | None = None) -> None:
        self.config = config
        self._outage = outage
        self._in_memory = config.in_memory
        self.statements = 0
        self.failures = 0
        self._store: Database | None = None
        self._local = threading.local()

    def connect(self) -> PKBDatabase:
        """Open the store, making its folder, which is the owner's alone. Raises KnowledgeUnavailableError."""
        if self._store is None:
            try:
                if not self._in_memory:
                    self.config.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError as error:
                raise KnowledgeUnavailableError(f"The knowledge base can't be opened: {error.strerror}.") from error
            backend = _backend(self.config)
            if backend.file is not None and not self._in_memory:
                FileStamp(backend.file).remove_if_log_is_cut()
            self._store = Database(backend, folder=self.config.path.parent, outage=self._outage)
            self._store.mend_indexes = None if self.is_postgresql else sqlite.index_mending()
        return self

    @property
    def store(self) -> Database:
        """The database that holds the knowledge base. Raises KnowledgeUnavailableError where it is closed."""
        return self._opened()

    @property
    def is_postgresql(self) -> bool:
        """Whether PostgreSQL holds the store."""
        return self.config.database_url is not None

    @property
    def is_in_transaction(self) -> bool:
        """Whether this thread is in a transaction."""
        return bool(getattr(self._local, "in_transaction", False))

    def initialize_schema(self) -> None:
        """Bring the store to today's schema. Safe to run twice, and by two processes at once.

        Raises KnowledgeTooNewError for a store that a newer version wrote, KnowledgeUnavailableError for one that is
        none of ours.
        """
        version = self.get_schema_version()
        if version == SCHEMA_VERSION:
            return
        if version > SCHEMA_VERSION:
            raise KnowledgeTooNewError(
                f"The knowledge base has schema version {version}, this program knows {SCHEMA_VERSION}. "
                "Start the newer version."
            )
        if 0 < version < FIRST_VERSION:
            raise KnowledgeUnavailableError(
                "This knowledge base was written by an earlier implementation. Export it there as JSON, and import it."
            )
        for number in range(FIRST_VERSION, SCHEMA_VERSION + 1):
            with self.transaction():
                self._apply(number)

    def get_schema_version(self) -> int:
        """The version of the store's schema; 0 for an empty one."""
        schema = postgresql.SCHEMA if self.is_postgresql else None
        with self._statement() as connection:
            if not inspect(connection).has_table("schema_version", schema=schema):
                return 0
        return int(self.select("SELECT COALESCE(MAX(version), 0) FROM schema_version")[0][0])

    @contextmanager
    def transaction(self) -> Iterator[PKBDatabase]:
        """Everything inside happens or nothing does. An inner transaction of the thread joins the outer one.

        Raises KnowledgeBusyError where another change takes longer than the configured `write_timeout`.
        """
        if self.is_in_transaction:
            yield self
            return
        try:
            with self._writing() as connection, self._using(connection):
                self._local.in_transaction = True
                yield self
        except StoreError as error:
            raise self._unavailable(error) from error
        finally:
            self._local.in_transaction = False

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        began = False
        try:
            with self._opened().writing(timeout=self.config.write_timeout) as connection:
                began = True
                yield connection
        except StorageBusyError as error:
            if began:
                raise
            raise KnowledgeBusyError("Another change of memories is taking long. Try again in a moment.") from error

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of a transaction that is rolled back alone where it raises."""
        with self.transaction():
            savepoint: NestedTransaction = self._local.connection.begin_nested()
            try:
                yield
            except KnowledgeIndexDamagedError:
                raise  # SQLite may have rolled back the whole transaction, and then has no savepoint any more
            except BaseException:
                savepoint.rollback()
                raise
            savepoint.commit()

    def rows(self, statement: Prepared, /, **parameters: Any) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self._statement() as connection:
            return statement.rows(connection, **parameters)

    def row(self, statement: Prepared, /, **parameters: Any) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        with self._statement() as connection:
            return statement.row(connection, **parameters)

    def run(self, statement: Prepared, /, **parameters: Any) -> list[tuple[Any, ...]]:
        """Change something; the rows that the statement returns, if it returns any."""
        with self.transaction(), self._statement() as connection:
            return statement.rows(connection, **parameters)

    def run_each(self, statement: Prepared, sets: Sequence[Mapping[str, Any]]) -> None:
        """Change something once for each of `sets`."""
        if sets:
            with self.transaction(), self._statement() as connection:
                statement.run_each(connection, sets)

    def execute(self, sql: str, parameters: Parameters = ()) -> Executed:
        """Run one statement that may change something; `?` stands for a parameter."""
        with self.transaction(), self._statement() as connection:
            result = connection.exec_driver_sql(self._translated(sql), tuple(parameters))
            rows = [dict(row) for row in result.mappings()] if result.returns_rows else []
            return Executed(rows=rows, rowcount=result.rowcount)

    def fetchone(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """The first row of a query, as a mapping; or None."""
        rows = self.fetchall(sql, parameters)
        return rows[0] if rows else None

    def fetchall(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        """The rows of a query, as mappings."""
        with self._statement() as connection:
            return [
                dict(row) for row in connection.exec_driver_sql(self._translated(sql), tuple(parameters)).mappings()
            ]

    def select(self, sql: str, parameters: Parameters = ()) -> Sequence[Sequence[Any]]:
        """The rows of a query, as tuples."""
        with self._statement() as connection:
            return [tuple(row) for row in connection.exec_driver_sql(self._translated(sql), tuple(parameters))]

    @contextmanager
    def snapshot(self) -> Iterator[PKBDatabase]:
        """Reads inside see one state of the store."""
        began = time.monotonic()
        with self._reading() as connection, self._using(connection):
            self._local.snapshot_began = began
            try:
                yield self
            finally:
                self._local.snapshot_began = None

    def is_mended(self) -> bool:
        """Whether what met a damaged index may be done again by this thread: a new index is there, or comes soon.

        Not within its transaction, which is to be rolled back first.
        """
        return not self.is_in_transaction and self._opened().await_mending(seconds=_PATIENCE)

    def optimize(self) -> None:
        """Make the statistics of the query planner that are missing, and renew those of tables that have grown.

        PostgreSQL does so by itself.
        """
        if self.is_postgresql:
            return
        renew_statistics(lambda sql: [tuple(row.values()) for row in self.execute(sql).rows])

    def close(self) -> None:
        """Close the files; `connect` opens them again."""
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def __enter__(self) -> PKBDatabase:
        return self.connect()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def _statement(self) -> Iterator[Connection]:
        """The connection for one statement; values that no column can hold are an InvalidKnowledgeError."""
        self.statements += 1
        since = getattr(self._local, "snapshot_began", None) or time.monotonic()
        with self._reading() as connection:
            try:
                yield connection
            except UnicodeEncodeError as error:
                raise InvalidKnowledgeError(say("half_a_character")) from error
            except OverflowError as error:
                raise InvalidKnowledgeError("The number is too large.") from error
            except IntegrityError:
                raise
            except self._opened().backend.errors as error:
                if _is_about_a_value(error):
                    raise InvalidKnowledgeError("A value is neither text nor a number.") from error
                store = self._opened()
                failed = store.failure_in_writing if self.is_in_transaction else store.failure_in_reading
                failure = failed(error, doing="using the knowledge base")
                store.mend_soon(failure, since=None if self.is_in_transaction else since)
                raise self._unavailable(failure) from error

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """The connection of this thread's transaction or snapshot, else a reader's."""
        own = getattr(self._local, "connection", None)
        if own is not None:
            yield own
        elif self._in_memory:
            # Its one connection is the writer's: every other one would see an empty store.
            with self.transaction():
                yield self._local.connection
        else:
            try:
                with self._opened().reading() as connection:
                    yield connection
            except StoreError as error:
                raise self._unavailable(error) from error

    @contextmanager
    def _using(self, connection: Connection) -> Iterator[None]:
        """What this thread does meanwhile, it does on `connection`."""
        before = getattr(self._local, "connection", None)
        self._local.connection = connection
        try:
            yield
        finally:
            self._local.connection = before

    def _unavailable(self, error: StoreError) -> KnowledgeUnavailableError:
        if isinstance(error, SearchIndexDamagedError):
            return KnowledgeIndexDamagedError(error.message)
        # The connections to a server that was away are replaced by themselves.
        self.failures += not isinstance(error, StorageBusyError) and error.message != UNREACHABLE
        return KnowledgeUnavailableError(error.message.replace("The database", "The knowledge base"))

    def _opened(self) -> Database:
        if self._store is None:
            raise KnowledgeUnavailableError("The knowledge base is closed.")
        return self._store

    def _translated(self, sql: str) -> str:
        return postgresql.translated(sql) if self.is_postgresql else sql

    def _apply(self, number: int) -> None:
        if self.get_schema_version() >= number:
            return  # another process was first
        if not self.is_postgresql:
            self.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at TEXT)")
        for statement in statements(number, dialect="postgresql" if self.is_postgresql else "sqlite"):
            self.execute(statement)
        self.execute("INSERT INTO schema_version (version, applied_at) VALUES (?, ?)", (number, now_iso()))


def _backend(config: PKBConfig) -> Backend:
    if config.database_url is None:
        return SQLiteFile(
            file=config.path,
            synchronous=config.synchronous,
            reader_timeout_ms=_READERS_WAIT_MS,
            prepare=sqlite.prepare,
        )
    # psycopg is imported only where a database server is used.
    from database.engine.postgresql import database_at

    return database_at(
        config.database_url,
        schema=postgresql.SCHEMA,
        writer_lock=postgresql.WRITER_LOCK,
        readers=postgresql.READERS,
    )


def _is_about_a_value(error: Exception) -> bool:
    """Whether a driver could not hand over a parameter."""
    told = str(getattr(error, "orig", error))
    return "binding parameter" in told or "cannot adapt type" in told


def get_database(config: PKBConfig, *, outage: Outage | None = None) -> PKBDatabase:
    """The knowledge base that `config` names, open and of today's schema. Raises KnowledgeUnavailableError."""
    database = PKBDatabase(config, outage=outage).connect()
    try:
        database.initialize_schema()
    except BaseException:
        database.close()
        raise
    return database


def get_memory_database() -> PKBDatabase:
    """An empty knowledge base that ends with the process."""
    return get_database(PKBConfig(db_path=":memory:"))
