"""The store of the knowledge base: transactions, plain SQL with `?` parameters, and its schema's life."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import StaticPool

from database.engine.clock import now_iso
from database.engine.pool import KeptConnections
from database.engine.sqlite import DRIVER_ERRORS, connect_sqlite, logged_error, sqlite_engine
from database.engine.statements import Prepared
from database.errors import StorageBusyError
from database.maintenance.statistics import renew_statistics

from .config import PKBConfig
from .errors import InvalidKnowledgeError, KnowledgeBusyError, KnowledgeTooNewError, KnowledgeUnavailableError
from .schema import FIRST_VERSION, MIGRATIONS, SCHEMA_VERSION

__all__ = ["Executed", "PKBDatabase", "Prepared", "get_database", "get_memory_database"]

Parameters = Sequence[Any]
Row = Mapping[str, Any]
Connections = TypeVar("Connections", Engine, KeptConnections)
# Writers leave readers alone; who does not is at it for long, and an answer would rather do without memories.
_READERS_WAIT_MS = 1_000


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

    Statements within `transaction()` see and make one change; others stand for themselves. Driver errors come out as
    KnowledgeUnavailableError, but for IntegrityError, since only the caller knows what a conflict means, and for values
    that no column can hold, which are an InvalidKnowledgeError.

    statements: how many were run so far. failures: how often the file could not be read or
    written for another reason than a lock.
    """

    def __init__(self, config: PKBConfig) -> None:
        self.config = config
        self.statements = 0
        self.failures = 0
        self._readers: KeptConnections | None = None
        self._writer: Engine | None = None
        self._writing = threading.RLock()
        self._local = threading.local()

    def connect(self) -> PKBDatabase:
        """Open the store, making its folder, which is the owner's alone. Raises KnowledgeUnavailableError."""
        if self._writer is not None:
            return self
        try:
            if self.config.in_memory:
                self._writer = _memory_engine()
            else:
                self.config.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                path, synchronous = self.config.path, self.config.synchronous
                self._writer = sqlite_engine(path, synchronous=synchronous, writing=True)
                self._readers = KeptConnections(
                    path, synchronous=synchronous, writing=False, busy_timeout_ms=_READERS_WAIT_MS
                )
        except OSError as error:
            raise KnowledgeUnavailableError(f"The knowledge base can't be opened: {error.strerror}.") from error
        return self

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
        if not self.select("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'"):
            return 0
        return int(self.select("SELECT COALESCE(MAX(version), 0) FROM schema_version")[0][0])

    @contextmanager
    def transaction(self) -> Iterator[PKBDatabase]:
        """Everything inside happens or nothing does. An inner one joins the outer one.

        Raises KnowledgeBusyError where another change takes longer than the configured `write_timeout`.
        """
        if getattr(self._local, "in_transaction", False):
            yield self
            return
        with self._being_the_writer(), self._our_errors(), _opened(self._writer).begin() as connection:
            self._local.in_transaction = True
            try:
                with self._using(connection):
                    yield self
            finally:
                self._local.in_transaction = False

    @contextmanager
    def _being_the_writer(self) -> Iterator[None]:
        if not self._writing.acquire(timeout=self.config.write_timeout):
            raise KnowledgeBusyError("Memories are being changed by somebody else just now. Try again in a moment.")
        try:
            yield
        finally:
            self._writing.release()

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """A part of a transaction that is taken back alone where it raises."""
        with self.transaction(), self._local.connection.begin_nested():
            yield

    def rows(self, statement: Prepared, /, **parameters: Any) -> list[tuple[Any, ...]]:
        """All rows of a query."""
        with self._reading() as connection, _bindable():
            self.statements += 1
            return statement.rows(connection, **parameters)

    def row(self, statement: Prepared, /, **parameters: Any) -> tuple[Any, ...] | None:
        """The first row of a query, or None."""
        with self._reading() as connection, _bindable():
            self.statements += 1
            return statement.row(connection, **parameters)

    def run(self, statement: Prepared, /, **parameters: Any) -> list[tuple[Any, ...]]:
        """Change something; the rows that the statement returns, if it returns any."""
        with self.transaction(), self._our_errors(), _bindable():
            self.statements += 1
            return statement.rows(self._local.connection, **parameters)

    def run_each(self, statement: Prepared, sets: Sequence[Mapping[str, Any]]) -> None:
        """Change something once for each of `sets`."""
        if not sets:
            return
        with self.transaction(), self._our_errors(), _bindable():
            self.statements += 1
            statement.run_each(self._local.connection, sets)

    def execute(self, sql: str, parameters: Parameters = ()) -> Executed:
        """Run one statement that may change something."""
        with self.transaction(), self._our_errors():
            self.statements += 1
            with _bindable():
                result = self._local.connection.exec_driver_sql(sql, tuple(parameters))
            rows = result.mappings().all() if result.returns_rows else ()
            return Executed(rows=rows, rowcount=result.rowcount)

    def execute_many(self, sql: str, rows: Sequence[Parameters]) -> None:
        """Run one statement for each of `rows`."""
        if not rows:
            return
        with self.transaction(), self._our_errors(), _bindable():
            self.statements += 1
            self._local.connection.exec_driver_sql(sql, [tuple(row) for row in rows])

    def fetchone(self, sql: str, parameters: Parameters = ()) -> Row | None:
        """The first row of a query as a mapping, or None."""
        rows = self.fetchall(sql, parameters)
        return rows[0] if rows else None

    def fetchall(self, sql: str, parameters: Parameters = ()) -> Sequence[Row]:
        """The rows of a query as mappings."""
        with self._reading() as connection:
            cursor = self._queried(connection, sql, parameters)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def select(self, sql: str, parameters: Parameters = ()) -> Sequence[Sequence[Any]]:
        """The rows of a query as tuples: the quick way for many rows."""
        with self._reading() as connection:
            return self._queried(connection, sql, parameters).fetchall()

    @contextmanager
    def snapshot(self) -> Iterator[PKBDatabase]:
        """Reads inside see one state of the store."""
        with self._reading() as connection, self._using(connection):
            yield self

    def optimize(self) -> None:
        """Make the statistics of the query planner that are missing, and renew those of tables that have grown."""
        renew_statistics(lambda sql: [tuple(row.values()) for row in self.execute(sql).rows])

    def close(self) -> None:
        """Let go of the files."""
        if self._readers is not None:
            self._readers.close()
        if self._writer is not None:
            self._writer.dispose()
        self._readers = self._writer = None

    def __enter__(self) -> PKBDatabase:
        return self.connect()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        own = getattr(self._local, "connection", None)
        if own is not None:
            with self._our_errors():
                yield own
        elif self.config.in_memory:
            with self.transaction():
                yield self._local.connection
        else:
            with self._our_errors(), _opened(self._readers).transaction() as connection:
                yield connection

    @contextmanager
    def _using(self, connection: Connection) -> Iterator[None]:
        """What this thread does meanwhile, it does on `connection`."""
        before = getattr(self._local, "connection", None)
        self._local.connection = connection
        try:
            yield
        finally:
            self._local.connection = before

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise
        except StorageBusyError as error:
            raise KnowledgeUnavailableError("The knowledge base is read too much at once. Try again.") from error
        except DRIVER_ERRORS as error:
            failure = logged_error(error, doing="using the knowledge base")
            self.failures += not isinstance(failure, StorageBusyError)
            sentence = failure.message.replace("The database", "The knowledge base")
            raise KnowledgeUnavailableError(sentence) from error

    def _queried(self, connection: Connection, sql: str, parameters: Parameters) -> DBAPICursor:
        """Straight from the driver: SQLAlchemy's results cost more than most of our queries."""
        self.statements += 1
        cursor = connection.connection.cursor()
        with _bindable():
            cursor.execute(sql, tuple(parameters))
        return cursor

    def _apply(self, number: int) -> None:
        if self.get_schema_version() >= number:
            return  # another process was first
        self.execute("CREATE TABLE IF NOT EXISTS schema_version (version INTEGER PRIMARY KEY, applied_at TEXT)")
        for statement in MIGRATIONS[number]:
            self.execute(statement)
        self.execute("INSERT INTO schema_version (version, applied_at) VALUES (?, ?)", (number, now_iso()))


def get_database(config: PKBConfig) -> PKBDatabase:
    """The knowledge base that `config` names, open and of today's schema. Raises KnowledgeUnavailableError."""
    database = PKBDatabase(config).connect()
    try:
        database.initialize_schema()
    except BaseException:
        database.close()
        raise
    return database


def get_memory_database() -> PKBDatabase:
    """An empty knowledge base that ends with the process."""
    return get_database(PKBConfig(db_path=":memory:"))


def _memory_engine() -> Engine:
    engine = create_engine("sqlite://", creator=lambda: connect_sqlite(":memory:"), poolclass=StaticPool)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


def _opened(connections: Connections | None) -> Connections:
    if connections is None:
        raise KnowledgeUnavailableError("The knowledge base is closed.")
    return connections


@contextmanager
def _bindable() -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidKnowledgeError("The text has half a character in it, which can't be stored.") from error
    except OverflowError as error:
        raise InvalidKnowledgeError("The number is too large.") from error
    except DRIVER_ERRORS as error:
        if "binding parameter" not in str(getattr(error, "orig", error)):
            raise
        raise InvalidKnowledgeError("A value is neither text nor a number.") from error
