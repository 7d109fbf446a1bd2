"""One store: many readers, one writer, on connections that stay open.

One connection writes, used by a thread that takes small jobs in order of urgency. Under load, jobs of turns share a
transaction. A caller that waits for its job runs it itself while the writer is idle: two thread switches cost more than
most jobs.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from database.errors import (
    DatabaseDamagedError,
    InvalidChangeError,
    OnlyWithSQLiteError,
    StorageBusyError,
    StorageFailedError,
    StoreError,
)

from .backend import Backend, log_failure

log = logging.getLogger(__name__)
T = TypeVar("T")
Job = Callable[[Connection], T]
RECORDED = "changed_people"
"""The key of a connection's `info` that holds the people whose changes the transaction has recorded."""
_WAIT_SECONDS = 30.0
_TOO_LARGE = "The number is too large."
_TOGETHER = 8
"""So many jobs share a transaction at most: the next begun answer is not to wait for a whole crowd."""


class Urgency(IntEnum):
    """Which job goes first: running turns are written before new ones are accepted, and nothing waits for INDEX.

    If ACCEPT went first, no answer would get a word out until all waiting turns had been accepted.
    """

    STREAM = 0
    ACCEPT = 1
    CHANGE = 2
    INDEX = 3


class _Queued(NamedTuple):
    """A job that waits for the writer; the tuple's order is that of the queue."""

    urgency: int
    number: int
    job: Job[Any]
    future: Future[Any]

    @property
    def shares(self) -> bool:
        return self.urgency <= Urgency.ACCEPT


class Database:
    """The database of one data folder, in the folder or on a database server; handed to whatever reads or writes it.

    Reads run in the caller's thread (`reading`); writes run in the writer's (`submit`, and `write` while jobs wait) or
    the caller's (`write` otherwise). Driver errors are raised as `database.errors`, a number that no column can hold
    as InvalidChangeError; an IntegrityError is raised as it is, since only the caller knows what a conflict means.

    folder: `users_dir`. damage: what the watch over the file has found (`soundness`). While it is set nothing is read
    and only running answers are written. on_damage: called where SQLite reports damage, in a watched store. on_changes:
    called with the people whose changes a transaction has recorded (`database.changes`), after its commit.
    write_failure: of the last write, None where it succeeded. next_probe: when `soundness.require_usable` may write
    again.
    """

    def __init__(self, backend: Backend, *, folder: Path) -> None:
        self.backend = backend
        self.folder = folder
        self._readers = KeptConnections(backend, writing=False)
        self._writer = KeptConnections(backend, writing=True)
        self._jobs: queue.PriorityQueue[_Queued] = queue.PriorityQueue()
        self._count = itertools.count()
        self.damage: str | None = None
        self.on_damage: Callable[[], None] | None = None
        self.on_changes: Callable[[Collection[str]], None] | None = None
        self.write_failure: StorageFailedError | None = None
        self.next_probe = 0.0
        self._closed = False
        self._closing = threading.Lock()
        # Held by the thread that uses the writing connection.
        self._writing = threading.Lock()
        # Jobs that were submitted and have not ended yet; guarded by `_closing`.
        self._submitted = 0
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)

    @property
    def file(self) -> Path:
        """The SQLite file of the store. Raises OnlyWithSQLiteError where a database server holds the store."""
        if self.backend.file is None:
            raise OnlyWithSQLiteError
        return self.backend.file

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection whose statements all see one state of the database."""
        if self.damage is not None:
            raise DatabaseDamagedError
        try:
            with self._readers.transaction() as connection:
                yield connection
        except OverflowError as error:
            raise InvalidChangeError(_TOO_LARGE) from error
        except self.backend.errors as error:
            raise self._failure(error, doing="reading") from error

    def submit(self, job: Job[T], *, urgency: Urgency = Urgency.CHANGE) -> Future[T]:
        """Queue `job`, a function of a connection, as one transaction; the future holds what it returned or raised.

        A job of STREAM or ACCEPT may share its transaction, and is run again when another one spoils it: it must have
        no effect but on the store.
        """
        future: Future[T] = Future()
        if self.damage is not None and urgency is not Urgency.STREAM:
            future.set_exception(DatabaseDamagedError())
            return future
        with self._closing:  # a job behind the last one would never be run
            if self._closed:
                future.set_exception(StorageFailedError("The store is closed."))
            else:
                if not self._thread.ident:  # a store that nobody waits for needs no thread
                    self._thread.start()
                self._submitted += 1
                self._jobs.put(_Queued(urgency, next(self._count), job, future))
        return future

    def write(self, job: Job[T], *, urgency: Urgency = Urgency.CHANGE) -> T:
        """Run `job` as one transaction and wait until it is committed."""
        if not self._begin_writing_here(urgency):
            return self.submit(job, urgency=urgency).result()
        future: Future[T] = Future()
        try:
            self._run(job, future)
        finally:
            self._writing.release()
        return future.result()

    @contextmanager
    def writing(self, *, timeout: float, urgency: Urgency = Urgency.CHANGE) -> Iterator[Connection]:
        """The writing connection for one transaction of this thread, rolled back where its block raises.

        It is handed over in the order of the queue, as to a job; meanwhile nobody else writes. Raises StorageBusyError
        where that takes longer than `timeout` seconds, and what `write` raises.
        """
        if self._begin_writing_here(urgency):
            try:
                with self._own_errors(), self._transaction() as connection:
                    yield connection
            finally:
                self._writing.release()
            return
        turn = _Turn()
        ended = self.submit(turn, urgency=urgency)
        ended.add_done_callback(lambda _: turn.granted.set())
        if not turn.granted.wait(timeout) and ended.cancel():
            raise StorageBusyError("The database is being written for long. Try again in a moment.")
        turn.granted.wait()
        if turn.connection is None:
            ended.result()
            raise StorageFailedError("The store is closed.")
        try:
            with self._own_errors():
                yield turn.connection
        except BaseException:
            turn.end(roll_back=True)
            ended.exception()
            raise
        turn.end()
        ended.result()

    def close(self) -> None:
        """Finish what is queued, then let go of the files."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
            if self._thread.ident:
                self._jobs.put(_Queued(max(Urgency) + 1, next(self._count), _end, Future()))
        if self._thread.ident:
            self._thread.join()
        with self._writing:
            self._writer.close()
        self._readers.close()

    def _begin_writing_here(self, urgency: Urgency) -> bool:
        """Take the writing connection for this thread, unless a job waits for it or uses it: none is overtaken."""
        if self.damage is not None and urgency is not Urgency.STREAM:
            return False
        with self._closing:
            return not self._closed and not self._submitted and self._writing.acquire(blocking=False)

    def _work(self) -> None:
        while True:
            first = self._jobs.get()
            if first.job is _end:
                return
            with self._writing:
                taken = list(self._group(first))
                group = [each for each in taken if each.future.set_running_or_notify_cancel()]
                if len(group) < 2 or not self._run_together(group):
                    for each in group:
                        self._run(each.job, each.future)
            with self._closing:
                self._submitted -= len(taken)

    def _group(self, first: _Queued) -> Iterator[_Queued]:
        """`first`, and those that wait behind it and may share its transaction."""
        yield first
        for _ in range(_TOGETHER - 1 if first.shares else 0):
            try:
                following = self._jobs.get_nowait()
            except queue.Empty:
                return
            if not following.shares:
                self._jobs.put(following)
                return
            yield following

    def _run_together(self, group: Sequence[_Queued]) -> bool:
        """Whether all went well; if not, nothing was done, and each has to be run by itself."""
        try:
            with self._transaction() as connection:
                results = [each.job(connection) for each in group]
        except BaseException:  # noqa: BLE001 - it is raised again where the job that raised it is run by itself
            return False
        self.write_failure = None
        for each, result in zip(group, results, strict=True):
            each.future.set_result(result)
        return True

    def _run(self, job: Job[T], future: Future[T]) -> None:
        try:
            with self._own_errors(), self._transaction() as connection:
                result = job(connection)
        except BaseException as error:  # noqa: BLE001 - the waiting thread must get it, whatever it is
            future.set_exception(error)
        else:
            future.set_result(result)

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """For a write: driver errors as errors of the store; an IntegrityError stays as it is."""
        try:
            yield
        except IntegrityError:
            raise
        except OverflowError as error:
            raise InvalidChangeError(_TOO_LARGE) from error
        except self.backend.errors as error:
            failure = self._failure(error, doing="writing")
            if isinstance(failure, StorageFailedError):
                self.write_failure = failure
            raise failure from error
        else:
            self.write_failure = None

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """A transaction of the writing connection; after its commit, `on_changes` hears whose changes it recorded."""
        with self._writer.transaction() as connection:
            yield connection
        # A transaction that was rolled back may have left names: its people are told for nothing.
        people = connection.info.pop(RECORDED, None)
        if people and self.on_changes is not None:
            self.on_changes(people)

    def _failure(self, error: Exception, *, doing: str) -> StoreError:
        failure = log_failure(self.backend.store_error(error), error, doing=f"{doing} {self.backend.name}")
        if isinstance(failure, DatabaseDamagedError) and self.on_damage is not None:
            self.damage = failure.message  # until the check that this asks for says otherwise
            self.on_damage()
        return failure


class _Turn:
    """A job that hands the writer's connection to another thread, and waits until that thread is done with it."""

    def __init__(self) -> None:
        self.granted = threading.Event()
        self.connection: Connection | None = None
        self._ended = threading.Event()
        self._roll_back = False

    def __call__(self, connection: Connection) -> None:
        self.connection = connection
        self.granted.set()
        self._ended.wait()
        if self._roll_back:
            raise _RolledBackError

    def end(self, *, roll_back: bool = False) -> None:
        self._roll_back = roll_back
        self._ended.set()


class _RolledBackError(Exception):
    """The thread that used the connection raised something."""


def _end(_connection: Connection) -> None:
    """The last job: what comes after it is not taken up."""


class KeptConnections:
    """Up to `count` connections to one database, each used by one thread at a time and opened when first needed.

    SQLAlchemy's own pool creates, begins, resets and discards a transaction object for each use, which takes longer
    than most of our transactions do.
    """

    def __init__(self, backend: Backend, *, writing: bool) -> None:
        """`writing`: one connection for the writer; otherwise as many readers as the backend allows."""
        count = 1 if writing else backend.readers
        self._errors = backend.errors
        self._engine = backend.engine(connections=count, writing=writing)
        self._beginning = backend.beginning(writing=writing)
        self._closings = 0
        # The one used last comes first: what it has read of the database is still in its memory.
        self._idle: queue.LifoQueue[Connection | None] = queue.LifoQueue()
        for _ in range(count):
            self._idle.put(None)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection within a transaction: committed at the end, rolled back when the block raises.

        Raises StorageBusyError where all connections are in use for long, and the driver's errors.
        """
        closings = self._closings
        connection = self._begun(self._take())
        try:
            yield connection
            _commit(connection)
        except BaseException:
            self._put_back(self._rolled_back(connection), closings)
            raise
        self._put_back(connection, closings)

    def close(self) -> None:
        """Close all connections; the next transaction opens new ones."""
        self._closings += 1
        idle: list[Connection | None] = []
        with suppress(queue.Empty):
            while True:
                idle.append(self._idle.get_nowait())
        for connection in idle:
            if connection is not None:
                connection.close()
            self._idle.put(None)
        self._engine.dispose()

    def _put_back(self, connection: Connection | None, closings: int) -> None:
        """Let another transaction have the connection; close it where the pool was closed since it was taken."""
        if connection is not None and closings != self._closings:
            connection.detach()
            connection.close()
            connection = None
        self._idle.put(connection)

    def _take(self) -> Connection | None:
        """An idle connection, or None for one that has to be opened."""
        try:
            return self._idle.get(timeout=_WAIT_SECONDS)
        except queue.Empty:
            raise StorageBusyError("The server is reading too much at once. Try again in a moment.") from None

    def _begun(self, idle: Connection | None) -> Connection:
        """`idle`, or a new connection, within a transaction.

        A connection that broke while it was idle (the database server was restarted) is replaced once.
        """
        connection = idle
        try:
            if connection is not None:
                try:
                    return self._begin(connection)
                except self._errors:
                    connection = self._rolled_back(connection)
                    if connection is not None:
                        raise
            connection = self._engine.connect()
            return self._begin(connection)
        except BaseException:
            self._idle.put(connection and self._rolled_back(connection))
            raise

    def _begin(self, connection: Connection) -> Connection:
        connection.connection.cursor().execute(self._beginning)
        return connection

    def _rolled_back(self, connection: Connection) -> Connection | None:
        """The connection after a rollback; None where that failed and the connection was closed."""
        with suppress(*self._errors):
            if connection.get_transaction() is not None:
                connection.rollback()
            if not connection.invalidated:
                connection.connection.rollback()
                return connection
        log.warning("a connection to the store was lost")
        with suppress(*self._errors):
            connection.close()
        return None


def _commit(connection: Connection) -> None:
    if connection.in_transaction():
        connection.commit()  # we began it, but SQLAlchemy took part in it
    else:
        connection.connection.commit()
