"""One store: many readers, one writer, on connections that stay open.

One connection writes, used by a thread that takes small jobs in order of urgency. Under load, jobs of turns share a
transaction. A caller that waits for its job runs it itself while the writer is idle: two thread switches cost more than
most jobs.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context, copy_context
from enum import IntEnum
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from .backend import Backend, Outage
from .checkpoints import Checkpoints, NoCheckpoints
from .errors import (
    DatabaseDamagedError,
    InvalidChangeError,
    OnlyWithSQLiteError,
    SearchIndexDamagedError,
    StorageBusyError,
    StorageFailedError,
    StoreBeingCheckedError,
    StoreClosedError,
    StoreError,
)
from .pool import HandedOver, KeptConnections, LoopFuture
from .statements import results_of

T = TypeVar("T")
Job = Callable[[Connection], T]
RECORDED = "changed_people"
"""The key of a connection's `info` that holds the people whose changes the transaction has recorded."""
_TOO_LARGE = "The number is too large."
_TOGETHER = 8
"""So many jobs share a transaction at most: the next begun answer is not to wait for a whole crowd."""


class Urgency(IntEnum):
    """Which job goes first: running turns are written before new ones are accepted, and nothing waits for INDEX.

    If ACCEPT went first, no answer would get a word out until all waiting turns had been accepted. Transactions of
    these two are pipelined (`database.engine.statements`): somebody waits for a turn.
    """

    STREAM = 0
    ACCEPT = 1
    CHANGE = 2
    INDEX = 3


class _Queued(NamedTuple):
    """A job that waits for the writer; the tuple's order is that of the queue. context: of who queued it."""

    urgency: int
    number: int
    job: Job[Any]
    future: Future[Any] | LoopFuture
    context: Context

    @property
    def is_of_turn(self) -> bool:
        return self.urgency <= Urgency.ACCEPT


class _Jobs:
    """The jobs that wait, the most urgent first.

    `queue.PriorityQueue` does the same with conditions, thirty calls for each job.
    """

    def __init__(self) -> None:
        self._heap: list[_Queued] = []
        self._lock = threading.Lock()
        # One for each job that was put; that of a job which shared the transaction of another stands for nothing.
        self._tokens: SimpleQueue[None] = SimpleQueue()

    def put(self, job: _Queued) -> None:
        with self._lock:
            heappush(self._heap, job)
        self._tokens.put(None)

    def get(self) -> _Queued:
        """The first job, waited for."""
        while True:
            self._tokens.get()
            with self._lock:
                if self._heap:
                    return heappop(self._heap)

    def get_of_turn(self) -> _Queued | None:
        """The first job if it is a turn's; None where it isn't, or none waits."""
        with self._lock:
            return heappop(self._heap) if self._heap and self._heap[0].is_of_turn else None


class Database:
    """The database of one data folder, in the folder or on a database server; handed to whatever reads or writes it.

    Reads run in the caller's thread (`reading`); writes run in the writer's (`submit`, and `write` while jobs wait) or
    the caller's (`write` otherwise). Driver errors are raised as those of `errors`, a number that no column can hold as
    InvalidChangeError; an IntegrityError is raised as it is, since only the caller knows what a conflict means.

    folder: `users_dir`. outage: of readers, see `KeptConnections`. damage: what the watch over the file has found
    (`soundness`). While it is set nothing is read and only running answers are written; nor is before `check_ends_at`,
    until when the file is probably being checked (by `time.monotonic`), is None. on_damage: called where SQLite reports
    damage, in a watched store. on_changes: called with the people whose changes a transaction has recorded, afterwards.
    mend_indexes: has damaged indexes made anew (`database.search.mending`). write_failure: of the last write, if it
    failed. next_probe: when `soundness.require_usable` may write again.
    """

    def __init__(self, backend: Backend, *, folder: Path, outage: Outage | None = None) -> None:
        self.backend = backend
        self.folder = folder
        self._errors: tuple[type[Exception], ...] = (OverflowError, *backend.errors)
        self._readers = KeptConnections(backend, writing=False, named=self._read_error, outage=outage)
        self._writer = KeptConnections(backend, writing=True)
        self.failure_in_reading, self.failure_in_writing = self._readers.failure, self._writer.failure
        self._jobs = _Jobs()
        self._count = itertools.count()
        self.damage: str | None = None
        self.check_ends_at: float | None = None
        self.on_damage: Callable[[], None] | None = None
        self.on_changes: Callable[[Collection[str]], None] | None = None
        self.mend_indexes: Callable[..., object] | None = None
        self._mending: Future[object] | None = None
        self.write_failure: StorageFailedError | None = None
        self.next_probe = 0.0
        self._closed = False
        self._closing = threading.Lock()
        # Held by the thread that uses the writing connection.
        self._writing = threading.Lock()
        file = backend.file
        self._checkpoints = NoCheckpoints() if file is None else Checkpoints(file, writing=self._writing)
        # Jobs that were submitted and have not ended yet; guarded by `_closing`.
        self._submitted = 0
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)

    @property
    def file(self) -> Path:
        """The SQLite file of the store. Raises OnlyWithSQLiteError where a database server holds the store."""
        if self.backend.file is None:
            raise OnlyWithSQLiteError
        return self.backend.file

    def readers_in_use(self) -> tuple[int, int, int]:
        """How many reading connections are in use, how many there may be, how many transactions wait for one."""
        return self._readers.in_use()

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection whose statements all see one state of the database."""
        if self._is_closed_to_requests():
            raise self._refusal()
        return self._readers.transaction()

    @contextmanager
    def read_apart(self) -> Iterator[Database]:
        """The same database for somebody who reads much of it, by connections that map nothing of its file.

        What connections have mapped counts as memory of the process for as long as they are open.
        """
        backend = self.backend.unmapped()
        if backend is self.backend:
            yield self
            return
        apart = Database(backend, folder=self.folder)
        apart.damage, apart.on_damage, apart.check_ends_at = self.damage, self.on_damage, self.check_ends_at
        try:
            yield apart
        finally:
            apart.close()

    def submit(self, job: Job[T], *, urgency: Urgency = Urgency.CHANGE) -> Future[T]:
        """Queue `job`, a function of a connection, as one transaction; the future holds what it returned or raised.

        A job of STREAM or ACCEPT may share its transaction, and is run again when another one spoils it; any job is run
        again after it met a damaged index. It must have no effect but on the store.
        """
        future: Future[T] = Future()
        self._queue(job, urgency, future)
        return future

    def submit_on_loop(self, job: Job[T], *, urgency: Urgency = Urgency.CHANGE) -> asyncio.Future[T]:
        """`submit` with a future of the running loop: one of a thread has locks, and a second future to be awaited."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue(job, urgency, LoopFuture(future))
        return future

    def _queue(self, job: Job[T], urgency: Urgency, outcome: Future[T] | LoopFuture) -> None:
        if urgency is not Urgency.STREAM and self._is_closed_to_requests():
            outcome.set_exception(self._refusal())
            return
        with self._closing:  # a job behind the last one would never be run
            if self._closed:
                outcome.set_exception(StoreClosedError())
            else:
                if not self._thread.ident:  # a store that nobody waits for needs no thread
                    self._thread.start()
                self._submitted += 1
                self._jobs.put(_Queued(urgency, next(self._count), job, outcome, copy_context()))

    def write(self, job: Job[T], *, urgency: Urgency = Urgency.CHANGE) -> T:
        """Run `job` as one transaction and wait until it is committed."""
        if not self._begin_writing_here(urgency):
            return self.submit(job, urgency=urgency).result()
        try:
            return self._committed(job, is_of_turn=urgency <= Urgency.ACCEPT)
        finally:
            self._writing.release()

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
        turn = HandedOver()
        ended = self.submit(turn, urgency=urgency)
        ended.add_done_callback(lambda _: turn.granted.set())
        if not turn.granted.wait(timeout) and ended.cancel():
            raise StorageBusyError("The database is being written for long. Try again in a moment.")
        turn.granted.wait()
        if turn.connection is None:
            ended.result()
            raise StoreClosedError()
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
                self._jobs.put(_Queued(max(Urgency) + 1, next(self._count), _end, Future(), copy_context()))
        if self._thread.ident:
            self._thread.join()
        self._checkpoints.close()
        with self._writing, self._checkpoints.closing_files():
            self._writer.close()
            self._readers.close()

    def _is_closed_to_requests(self) -> bool:
        return self.damage is not None or self.check_ends_at is not None

    def _refusal(self) -> StoreError:
        if self.damage is not None:
            return DatabaseDamagedError()
        return StoreBeingCheckedError(seconds_left=(self.check_ends_at or 0.0) - time.monotonic())

    def _begin_writing_here(self, urgency: Urgency) -> bool:
        """Take the writing connection for this thread, unless a job waits for it or uses it: none is overtaken."""
        if urgency is not Urgency.STREAM and self._is_closed_to_requests():
            return False
        with self._closing:
            return not self._closed and not self._submitted and self._writing.acquire(blocking=False)

    def _work(self) -> None:
        while self._run_next():
            pass  # and nothing is kept of a job: its context holds the request that queued it

    def _run_next(self) -> bool:
        """Wait for the first job and run it, with those that share its transaction; False for the last one."""
        first = self._jobs.get()
        if first.job is _end:
            return False
        with self._writing:
            taken = list(self._group(first))
            group = [each for each in taken if each.future.set_running_or_notify_cancel()]
            if len(group) < 2 or not self._run_together(group):
                for each in group:
                    self._run(each)
        with self._closing:
            self._submitted -= len(taken)
        return True

    def _group(self, first: _Queued) -> Iterator[_Queued]:
        """`first`, and those that wait behind it and may share its transaction."""
        yield first
        for _ in range(_TOGETHER - 1 if first.is_of_turn else 0):
            following = self._jobs.get_of_turn()
            if following is None:
                return
            yield following

    def _run_together(self, group: Sequence[_Queued]) -> bool:
        """Whether all went well; if not, nothing was done, and each has to be run by itself."""
        try:
            with self._transaction(is_pipelined=True) as connection:
                results = list(results_of([(each.job, each.context) for each in group], connection))
        except BaseException:  # noqa: BLE001 - it is raised again where the job that raised it is run by itself
            return False
        self.write_failure = None
        for each, result in zip(group, results, strict=True):
            each.future.set_result(result)
        return True

    def _run(self, queued: _Queued) -> None:
        try:
            result = queued.context.run(self._committed, queued.job, is_of_turn=queued.is_of_turn)
        except BaseException as error:  # noqa: BLE001 - the waiting thread must get it, whatever it is
            queued.future.set_exception(error)
        else:
            queued.future.set_result(result)

    def _committed(self, job: Job[T], *, is_of_turn: bool) -> T:
        """What `job` returned, after the commit of its transaction; it is run again after it met a damaged index."""
        try:
            return self._committed_once(job, is_of_turn=is_of_turn)
        except SearchIndexDamagedError as damage:
            if self.mend_indexes is None:
                raise
            mend = partial(self.mend_indexes, statement=damage.statement)
            self._committed_once(mend, is_of_turn=False)
            return self._committed_once(job, is_of_turn=is_of_turn)

    def _committed_once(self, job: Job[T], *, is_of_turn: bool) -> T:
        try:
            with self._writer.transaction(is_pipelined=is_of_turn) as connection:
                result = job(connection)
        except IntegrityError:
            raise
        except self._errors as error:
            raise self._write_error(error) from error
        self.write_failure = None
        self._after_commit(connection)
        return result

    @contextmanager
    def _own_errors(self) -> Iterator[None]:
        """For a write: driver errors as errors of the store; an IntegrityError stays as it is."""
        try:
            yield
        except IntegrityError:
            raise
        except self._errors as error:
            failure = self._write_error(error)
            self.mend_soon(failure, since=None)
            raise failure from error
        else:
            self.write_failure = None

    def _write_error(self, error: Exception) -> StoreError:
        failure = self._error(error, doing="writing")
        if isinstance(failure, StorageFailedError):
            self.write_failure = failure
        return failure

    @contextmanager
    def _transaction(self, *, is_pipelined: bool = False) -> Iterator[Connection]:
        """A transaction of the writing connection; after its commit, `on_changes` hears whose changes it recorded."""
        with self._writer.transaction(is_pipelined=is_pipelined) as connection:
            yield connection
        self._after_commit(connection)

    def _after_commit(self, connection: Connection) -> None:
        self._checkpoints.after_commit()
        # A transaction that was rolled back may have left names: its people are told for nothing.
        people = connection.info.pop(RECORDED, None)
        if people and self.on_changes is not None:
            self.on_changes(people)

    def _read_error(self, error: BaseException, since: float) -> StoreError | None:
        """The error of the store for one that a block of `reading` raised; None: it is the block's own."""
        if not isinstance(error, self._errors):
            return None
        failure = self._error(error, doing="reading")
        self.mend_soon(failure, since=since)
        return failure

    def mend_soon(self, failure: StoreError, *, since: float | None) -> None:
        """Queue the mending of a damaged index, where that is what failed; since: see `database.search.mending`."""
        if isinstance(failure, SearchIndexDamagedError) and self.mend_indexes is not None:
            self._mending = self.submit(partial(self.mend_indexes, statement=failure.statement, since=since))

    def await_mending(self, *, seconds: float) -> bool:
        """Whether the damaged indexes that were met are replaced; waits so long for it."""
        if self.mend_indexes is None or self._mending is None:
            return self.mend_indexes is not None
        mending = self._mending
        return not wait([mending], timeout=seconds).not_done and mending.exception() is None

    def _error(self, error: Exception, *, doing: str) -> StoreError:
        """The error of the store for one of the driver, or for a number that no column can hold."""
        return InvalidChangeError(_TOO_LARGE) if isinstance(error, OverflowError) else self._failure(error, doing=doing)

    def _failure(self, error: Exception, *, doing: str) -> StoreError:
        failure = (self._readers if doing == "reading" else self._writer).failure(error, doing=doing)
        if isinstance(failure, DatabaseDamagedError) and self.on_damage is not None:
            self.damage = failure.message  # until the check that this asks for says otherwise
            self.on_damage()
        return failure


def _end(_connection: Connection) -> None:
    """The last job: what comes after it is not taken up."""
