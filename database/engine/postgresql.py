"""PostgreSQL: connections and engines, and its errors as errors of the store.

The tables lie in a schema of their own. A writing transaction begins with an advisory lock, so that there is one writer
at a time, in whatever process, as there is in SQLite: what the code derives from rows that it has read stays true
until it commits. Readers see one snapshot and wait for nobody.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import orjson
import psycopg
from psycopg import generators
from psycopg.adapt import Dumper, PyFormat
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.types.numeric import IntDumper
from psycopg.types.string import StrDumperUnknown
from sqlalchemy import URL, BigInteger, Connection, Engine, Float, Integer, create_engine, event, make_url
from sqlalchemy.dialects.postgresql.base import PGTypeCompiler
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.pool import QueuePool
from sqlalchemy.sql.compiler import SQLCompiler

from .backend import UNEXPLAINED, UNREACHABLE, ServerHold
from .clock import StoreTime
from .errors import DatabaseDamagedError, StorageBusyError, StorageFailedError, StoreError
from .pipeline import PipelinedConnection
from .statements import Numbered

SCHEMA = "anaphora"
"""The schema of the tables; the next name on the search path is that of extensions."""
LOCK_TIMEOUT_MS = 10_000
IDLE_WRITER_MS = 5_000
"""So long a writing transaction may ask nothing. The server then ends it: its process is cut off or stands still, and
keeps all others from writing. Less than LOCK_TIMEOUT_MS, so that they don't give up before; and little enough that they
close its turns within ten seconds, though they first let the living renew their leases (`chat.processes.duties`)."""
# A network that drops everything is noticed after about fifteen seconds, not after the system's two hours.
_NOTICE_CUTS = {"keepalives_idle": 5, "keepalives_interval": 3, "keepalives_count": 3, "tcp_user_timeout": 15_000}
_WORK_MEM = "32MB"
"""So much a statement may sort or collect in memory. With PostgreSQL's 4 MB, a search of a million messages forgets
which rows of a page say its words, and reads all of them."""
_WRITER_LOCK, _SERVER_LOCK = 20_260_208, 20_260_209
_SECONDS_FOR_ANOTHER_START = 20.0
"""So long a server waits while another one that starts puts the store in order."""
_LOOK_EVERY = 0.05
_READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN, _COMMIT = Numbered("BEGIN"), Numbered("COMMIT")
_NUL, _REPLACEMENT = "\x00", "\ufffd"
_TWO_TO_63 = 2**63

# By SQLSTATE or its class, the first two characters. https://www.postgresql.org/docs/current/errcodes-appendix.html
_BUSY = ("25P03", "40001", "40P01", "53300", "55P03", "57014")
_UNREACHABLE = ("08", "57P01", "57P02", "57P03")
_FULL = ("53100", "53200", "58")
_READ_ONLY = ("25006", "28", "3D000", "42501")
_DAMAGED = ("XX001", "XX002")


@dataclass(frozen=True, slots=True)
class PostgreSQLDatabase:
    """The database at `url` (`postgresql+psycopg://…`) as a `database.engine.backend.Backend`.

    schema: where its tables lie; each schema has a writer of its own, who holds the advisory lock `writer_lock`.
    """

    url: URL = field(repr=False)
    schema: str = SCHEMA
    writer_lock: int = _WRITER_LOCK
    readers: int = 24
    file: ClassVar[Path | None] = None
    is_shared: ClassVar[bool] = True
    errors: ClassVar[tuple[type[Exception], ...]] = (DBAPIError, psycopg.Error)

    @property
    def name(self) -> str:
        """The name of the database, without address and password."""
        return self.url.database or ""

    def engine(self, *, connections: int, writing: bool) -> Engine:
        """An engine over the database; the caller begins its transactions with `beginning`."""
        engine = create_engine(
            self.url,
            poolclass=QueuePool,
            pool_size=connections,
            max_overflow=0,
            pool_reset_on_return="rollback",
            use_native_hstore=False,
            json_serializer=orjson.dumps,
            json_deserializer=orjson.loads,
            connect_args={
                "autocommit": True,  # `beginning` begins each transaction
                "application_name": "anaphora",
                "connect_timeout": 10,
                **_NOTICE_CUTS,
                "options": f"-c search_path={self.schema},public -c lock_timeout={LOCK_TIMEOUT_MS} -c timezone=UTC "
                f"-c work_mem={_WORK_MEM} "
                # Whatever the database prefers: any other snapshot of a writer is older than its lock.
                "-c default_transaction_isolation=read\\ committed "
                # Readers are always in a transaction: see `_commit_and_begin`.
                f"-c idle_in_transaction_session_timeout={IDLE_WRITER_MS if writing else 0}",
            },
        )
        dialect = engine.dialect
        dialect.type_compiler_instance = _WideIntegers(dialect)
        # The driver sends a number as the smallest type that holds it, which fits any column and function.
        dialect.colspecs = {**dialect.colspecs, Integer: Integer, BigInteger: BigInteger, Float: Float}
        vars(dialect).update(_WRITING if writing else _READING_AHEAD)
        event.listen(engine, "do_connect", _connected)
        event.listen(engine, "connect", _adapt)
        return engine

    def begins(self, *, writing: bool) -> Callable[[Any], object]:
        """What begins a transaction; a writer waits until no other process writes."""
        return partial(self._begin, writing=writing)

    def _begin(self, connection: Any, *, writing: bool) -> None:
        lock = f"SELECT pg_advisory_xact_lock({self.writer_lock})"
        if writing and connection.sender.is_pipelined:  # which takes single statements
            connection.sender.send(_BEGIN, ())
            connection.sender.send(Numbered(lock), ())
        elif writing:
            connection.execute(f"BEGIN; {lock}")
        elif not _is_begun(connection):
            connection.rollback()  # says so where the connection is broken
            connection.execute(_READING)

    def unmapped(self) -> PostgreSQLDatabase:
        """Itself: no file is mapped here."""
        return self

    def check(self, connection: Any) -> None:
        """Raise psycopg.OperationalError where the server has ended the connection since it was used last."""
        if _has_news(connection):
            connection.execute("SELECT 1")

    @contextmanager
    def held_for_server(self) -> Iterator[ServerHold]:
        """Hold the database by a lock of a connection of its own, which is shared anew where that has broken."""
        engine = self.engine(connections=1, writing=True)
        lock = _ServerLock(engine)
        try:
            lock.take()
            yield lock
        finally:
            lock.release()
            engine.dispose()

    def store_error(self, error: Exception) -> StoreError:
        """The StoreError for `error`, by its SQLSTATE; without one, the server could not be reached."""
        return store_error(error)


# A transaction that only reads is begun when the one before it ends, by the same message, and nobody waits for the
# answer: one statement is one round trip then, instead of three. Until its first statement such a transaction has no
# snapshot and no lock, so that it keeps the database from nothing.


def _commit_and_begin(connection: Any) -> None:
    """End a reading transaction and begin the next one; the answer is read by `_is_begun`."""
    connection.pgconn.send_query(f"COMMIT; {_READING}".encode())
    connection.pgconn.flush()


def _is_begun(connection: Any) -> bool:
    """Whether `_commit_and_begin` has begun a transaction here, and the server has said nothing since."""
    _read_answer(connection)
    return connection.pgconn.transaction_status == TransactionStatus.INTRANS and not _has_news(connection)


def _read_answer(connection: Any) -> None:
    if connection.pgconn.transaction_status == TransactionStatus.ACTIVE:
        connection.wait(generators.execute(connection.pgconn))


def _has_news(connection: Any) -> bool:
    """Whether the server has sent something that nobody asked for, such as that it ends the connection."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _roll_back(connection: Any) -> None:
    if connection.pgconn.pipeline_status == PipelineStatus.OFF:
        _read_answer(connection)
    connection.rollback()


def _commit(connection: Any) -> None:
    """Commit what was written; within a pipeline the end of that waits for it."""
    if connection.sender.is_pipelined:
        connection.sender.send(_COMMIT, ())
    else:
        connection.commit()


_WRITING = {"do_commit": _commit}
_READING_AHEAD = {"do_commit": _commit_and_begin, "do_rollback": _roll_back}
"""What the dialect of a writer, and of a reader, does in its own way, by the names of SQLAlchemy's methods."""


class _ServerLock:
    """An advisory lock: it ends with its connection, for example when the database server is restarted.

    Servers share it. One that comes while nobody has it takes it alone, until it has put the store in order; so does a
    command that no server may work beside.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None
        self._held = self._alone = False

    def take(self) -> None:
        """Take it alone where nobody has it, and share it else, after one that has it alone. Raises StoreError."""
        self._alone = self._held = self._asked(f"SELECT pg_try_advisory_lock({_SERVER_LOCK})")
        until = time.monotonic() + _SECONDS_FOR_ANOTHER_START
        while not self.is_held() and time.monotonic() < until:
            time.sleep(_LOOK_EVERY)

    def is_held(self) -> bool:
        """Whether this process holds the lock; it tries to share one that it doesn't hold. Raises StoreError."""
        self._held = self._asked("SELECT true" if self._held else f"SELECT pg_try_advisory_lock_shared({_SERVER_LOCK})")
        return self._held

    def is_alone(self) -> bool:
        """Whether no other process can hold the lock. Raises StoreError."""
        return self._alone and self.is_held()

    def share(self) -> None:
        """Let other servers hold the lock too. Raises StoreError."""
        if self._alone:
            self._alone = False
            self._asked(f"SELECT pg_advisory_lock_shared({_SERVER_LOCK}) IS NOT NULL")
            self._asked(f"SELECT pg_advisory_unlock({_SERVER_LOCK})")

    def take_again(self, *, after: float) -> None:
        """Let go of the lock, and take it after so many seconds as one that comes. Raises StoreError."""
        self.release()
        time.sleep(after)
        self.take()

    def release(self) -> None:
        """Let go of the lock, so that whoever comes next has it at once, and close its connection."""
        if self._connection is not None:
            with suppress(DBAPIError, psycopg.Error):
                self._connection.exec_driver_sql("SELECT pg_advisory_unlock_all()")
        self._close()

    def _close(self) -> None:
        connection, self._connection, self._held, self._alone = self._connection, None, False, False
        if connection is not None:
            with suppress(DBAPIError, psycopg.Error):
                connection.invalidate()  # a pooled connection would keep the lock
                connection.close()

    def _asked(self, question: str) -> bool:
        try:
            if self._connection is None:
                self._connection = self._engine.connect()
            return bool(self._connection.exec_driver_sql(question).scalar_one())
        except (DBAPIError, psycopg.Error) as error:
            self._close()
            raise store_error(error) from error


class _WideIntegers(PGTypeCompiler):
    """An integer has 64 bits, as in SQLite; a number of the caller's that 32 bits can't hold is no error."""

    def visit_INTEGER(self, type_: Integer, **_: Any) -> str:  # noqa: N802 - SQLAlchemy's name
        return "BIGINT"


class _TextDumper(StrDumperUnknown):
    """PostgreSQL stores no U+0000: it becomes U+FFFD."""

    def dump(self, obj: str) -> Any:
        return super().dump(obj.replace(_NUL, _REPLACEMENT) if _NUL in obj else obj)


class _IntegerDumper(IntDumper):
    """A number of more than 64 bits is refused before it is sent, as SQLite's driver does."""

    def upgrade(self, obj: int, format: PyFormat) -> Dumper:
        if not -_TWO_TO_63 <= obj < _TWO_TO_63:
            raise OverflowError
        return super().upgrade(obj, format)


@compiles(StoreTime, "postgresql")
def _store_time(element: StoreTime, compiler: SQLCompiler, **how: Any) -> str:
    seconds = f"make_interval(secs => CAST({compiler.process(element.clauses, **how)} AS DOUBLE PRECISION))"
    return f"""to_char(clock_timestamp() AT TIME ZONE 'UTC' + {seconds}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def _connected(_dialect: object, _record: object, arguments: Any, options: Any) -> PipelinedConnection:
    return PipelinedConnection.connect(*arguments, **options)


def _adapt(connection: psycopg.Connection[Any], _record: object) -> None:
    connection.adapters.register_dumper(str, _TextDumper)
    connection.adapters.register_dumper(int, _IntegerDumper)


def database_at(url: str, **where: Any) -> PostgreSQLDatabase:
    """The database at `url`; `where`: as for PostgreSQLDatabase. Raises ArgumentError for a malformed URL."""
    return PostgreSQLDatabase(make_url(url), **where)


def holds_rows(connection: Connection, tables: Sequence[str], *, schema: str) -> bool:
    """Whether any of `tables` of `schema` has a row; False where the schema or its tables are not there."""
    there = "SELECT to_regclass(%s) IS NOT NULL"
    known = [table for table in tables if connection.exec_driver_sql(there, (f"{schema}.{table}",)).scalar()]
    rows = (f"SELECT EXISTS (SELECT 1 FROM {schema}.{table})" for table in known)  # noqa: S608 - our own tables' names
    return any(connection.exec_driver_sql(row).scalar() for row in rows)


def store_error(error: Exception) -> StoreError:
    """The StoreError for `error`, of SQLAlchemy or psycopg, by its SQLSTATE."""
    cause = getattr(error, "orig", None) or error
    state = getattr(cause, "sqlstate", None)
    if state is None and isinstance(cause, psycopg.OperationalError):
        state = _UNREACHABLE[0]
    return _stated(state or "")


def _stated(state: str) -> StoreError:
    if state in _DAMAGED:
        return DatabaseDamagedError()
    if state in _BUSY:
        return StorageBusyError("The database is busy. Try again in a moment.")
    if state.startswith(_UNREACHABLE):
        return StorageFailedError(UNREACHABLE)
    if state.startswith(_FULL):
        return StorageFailedError("The disk of the database server is full or failing: nothing was stored.")
    if state.startswith(_READ_ONLY):
        return StorageFailedError("The database can't be written. Check the permissions of its user.")
    return StorageFailedError(UNEXPLAINED)
