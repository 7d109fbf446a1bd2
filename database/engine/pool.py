"""Connections that stay open, with transactions that are cheap to begin and to end, and their way to other threads."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from types import TracebackType
from typing import Any

from sqlalchemy import Connection

import tracing

from .backend import Backend, Outage, log_failure
from .backend import log as backend_log
from .errors import SearchIndexDamagedError, StorageBusyError, StoreError
from .statements import pipelined, trace_statements

log = logging.getLogger(__name__)
_WAIT_SECONDS = 30.0


class KeptConnections:
    """Up to `count` connections to one database, each used by one thread at a time and opened when first needed.

    SQLAlchemy's own pool creates, begins, resets and discards a transaction object for each use, which takes longer
    than most of our transactions do.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        writing: bool,
        named: Callable[[BaseException, float], StoreError | None] = lambda _error, _since: None,
        outage: Outage | None = None,
    ) -> None:
        """`writing`: one connection for the writer; otherwise as many readers as the backend allows.

        named: the error to raise instead of one that a transaction ended with, which began at a time of the monotonic
        clock; None for that one itself. outage: that of whoever opens the store again and again; None for a new one.
        """
        self._count = count = 1 if writing else backend.readers
        self._errors = backend.errors
        self._named = named
        self._engine = backend.engine(connections=count, writing=writing)
        if tracing.is_on():
            trace_statements(self._engine)
        self._begins = backend.begins(writing=writing)
        self._checks = backend.check
        self._backend = backend
        self._pipelines = writing and self._engine.dialect.name != "sqlite"
        self.outage = outage or Outage(backend_log, what=f"{'writing' if writing else 'reading'} {backend.name}")
        self._closed = False
        # The one used last comes first: what it has read of the database is still in its memory.
        self._idle: deque[Connection | None] = deque([None] * count)
        self._freed = threading.Condition()
        self._waiting = 0

    def transaction(self, *, is_pipelined: bool = False) -> _Transaction:
        """A connection within a transaction: committed at the end, rolled back when the block raises.

        is_pipelined: the whole of a writing transaction is `pipelined`, its beginning and its commit included: it waits
        for a database server where rows are asked for and at its end. Statements of several commands, such as those of
        migrations, have no place in it. Raises StorageBusyError where all connections are in use for long, and the
        driver's errors.
        """
        return _Transaction(self, is_pipelined=is_pipelined and self._pipelines)

    def in_use(self) -> tuple[int, int, int]:
        """How many connections are in use, how many there may be, and how many transactions wait for one."""
        return self._count - len(self._idle), self._count, self._waiting

    def failure(self, error: Exception, *, doing: str) -> StoreError:
        """The StoreError for one of the driver, which is logged; see `log_failure`."""
        failure = self._backend.store_error(error)
        return log_failure(failure, error, doing=f"{doing} {self._backend.name}", outage=self.outage)

    def close(self) -> None:
        """Close all connections. A transaction that comes later opens one, which is closed with it."""
        self._closed = True
        for _ in range(len(self._idle)):
            with suppress(IndexError):
                connection = self._idle.popleft()
                if connection is not None:
                    _drop(connection)
                self._put_back(None)
        self._engine.dispose()

    def _put_back(self, connection: Connection | None) -> None:
        """Let another transaction have the connection; close it where the pool was closed."""
        if connection is not None and self._closed:
            connection.detach()
            connection.close()
            connection = None
        self._idle.append(connection)
        if self._waiting:
            with self._freed:
                self._freed.notify()

    def _waited(self) -> Connection | None:
        """An idle connection, or None for one that has to be opened, once another transaction has given it back."""
        until = time.monotonic() + _WAIT_SECONDS
        with self._freed:
            self._waiting += 1  # before looking: who gives one back after the look sees that somebody waits
            try:
                while self._freed.wait_for(lambda: self._idle, until - time.monotonic()):
                    with suppress(IndexError):
                        return self._idle.pop()
            finally:
                self._waiting -= 1
        raise StorageBusyError("The server is reading too much at once. Try again in a moment.")

    def _begun(self, idle: Connection | None, begin: Callable[[Connection], Connection]) -> Connection:
        """`idle`, or a new connection, within a transaction, which `begin` begins.

        A connection that broke while it was idle (the database server was restarted) is replaced once.
        """
        connection = idle
        try:
            if connection is not None:
                try:
                    return begin(connection)
                except self._errors:
                    connection = self._rolled_back(connection)
                    if connection is not None:
                        raise
            connection = self._engine.connect()
            return begin(connection)
        except BaseException:
            self._put_back(connection and self._rolled_back(connection))
            raise

    def _begin(self, connection: Connection) -> Connection:
        self._begins((connection._dbapi_connection or connection.connection).dbapi_connection)
        return connection

    @contextmanager
    def _pipeline(self, connection: Connection) -> Iterator[None]:
        """A transaction of which nothing is waited for but what is asked, and its end."""
        self._checks(connection.connection.dbapi_connection)
        with pipelined(connection):
            self._begin(connection)
            yield
            _commit(connection)

    def _raise_named(self, error: BaseException, since: float) -> None:
        """Raise the error that stands for `error`, if there is one."""
        named = self._named(error, since)
        if named is not None:
            raise named from error

    def _rolled_back(self, connection: Connection) -> Connection | None:
        """The connection after a rollback; None where that failed and the connection was closed."""
        with suppress(*self._errors):
            if connection.get_transaction() is not None:
                connection.rollback()
            if not connection.invalidated:
                connection.connection.rollback()
                return connection
        if not self.outage.is_on:
            log.warning("a connection to the store was lost")
        with suppress(*self._errors):
            _drop(connection)
        return None


class _Transaction:
    """The `with` block of `KeptConnections.transaction`; a generator would cost as much as a small statement."""

    __slots__ = ("_connection", "_is_pipelined", "_pipeline", "_pool", "_since")

    def __init__(self, pool: KeptConnections, *, is_pipelined: bool) -> None:
        self._pool = pool
        self._is_pipelined = is_pipelined
        self._pipeline: AbstractContextManager[None] | None = None
        self._connection: Connection
        self._since = 0.0

    def __enter__(self) -> Connection:
        pool = self._pool
        try:
            idle = pool._idle.pop()
        except IndexError:
            idle = pool._waited()
        self._since = time.monotonic()
        try:
            begin = self._begin_pipeline if self._is_pipelined else pool._begin
            self._connection = connection = pool._begun(idle, begin)
        except Exception as error:
            pool._raise_named(error, self._since)
            raise
        return connection

    def _begin_pipeline(self, connection: Connection) -> Connection:
        pipeline = self._pool._pipeline(connection)
        pipeline.__enter__()
        self._pipeline = pipeline
        return connection

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        pool, failure = self._pool, error
        connection: Connection | None = self._connection
        try:
            if self._pipeline is not None:
                self._pipeline.__exit__(kind, error, traceback)
            elif error is None:
                _commit(self._connection)
            if error is not None:
                connection = pool._rolled_back(self._connection)
        except BaseException as raised:  # noqa: BLE001 - it is raised below, once the connection is back
            failure = raised
            connection = pool._rolled_back(self._connection)
        finally:
            pool._put_back(connection)
        if failure is None and pool.outage.is_on:
            pool.outage.over()
        if failure is not None:
            pool._raise_named(failure, self._since)
            if failure is not error:
                raise failure


def _drop(connection: Connection) -> None:
    """Close without a rollback: on a lost connection a rollback logs a traceback."""
    connection.invalidate()
    connection.close()


def _commit(connection: Connection) -> None:
    held = connection._dbapi_connection
    if connection._transaction is None and held is not None:
        connection.dialect.do_commit(held.dbapi_connection)  # type: ignore[arg-type]
    elif connection.in_transaction():
        connection.commit()  # we began it, but SQLAlchemy took part in it
    else:
        connection.dialect.do_commit(connection.connection)


class LoopFuture:
    """A future of a loop, with those methods of a thread's future that the writer calls."""

    __slots__ = ("_future", "_loop")

    def __init__(self, future: asyncio.Future[Any]) -> None:
        self._future = future
        self._loop = future.get_loop()

    def set_running_or_notify_cancel(self) -> bool:
        """Whether somebody still waits."""
        return not self._future.cancelled()

    def set_result(self, result: object) -> None:
        """Settle the future."""
        self._tell(self._future.set_result, result)

    def set_exception(self, error: BaseException) -> None:
        """Let the future raise `error`."""
        self._tell(self._future.set_exception, error)

    def _tell(self, settle: Callable[[Any], object], outcome: object) -> None:
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
            self._loop.call_soon_threadsafe(self._settle, settle, outcome)

    def _settle(self, settle: Callable[[Any], object], outcome: object) -> None:
        if not self._future.cancelled():
            settle(outcome)


class HandedOver:
    """A job that hands the writer's connection to another thread, and waits until that thread is done with it."""

    def __init__(self) -> None:
        self.granted = threading.Event()
        self.connection: Connection | None = None
        self._ended = threading.Event()
        self._roll_back = False

    def __call__(self, connection: Connection) -> None:
        """Be the job. Raises SearchIndexDamagedError for a second time: what the thread did can't be done again."""
        if self.connection is not None:
            raise SearchIndexDamagedError
        self.connection = connection
        self.granted.set()
        self._ended.wait()
        if self._roll_back:
            raise _RolledBackError

    def end(self, *, roll_back: bool = False) -> None:
        """Let the job end, and with it the transaction."""
        self._roll_back = roll_back
        self._ended.set()


class _RolledBackError(Exception):
    """The thread that used the connection raised something."""
