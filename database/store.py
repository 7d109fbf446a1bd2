"""One store: many readers, one writer.

SQLite has one writer, and so have we: a thread that takes small jobs in order of urgency, each its own transaction.
Whoever waits for a job waits for a commit; nobody else's lock is in the way.
"""

from __future__ import annotations

import itertools
import logging
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from . import dialect
from .errors import StorageFailedError
from .kept_connections import KeptConnections

log = logging.getLogger(__name__)
T = TypeVar("T")
Job = Callable[[Connection], T]


class Urgency(IntEnum):
    """Which job goes first: what was begun comes before what begins, and nobody waits for INDEX.

    Were ACCEPT the first, no answer would get a word out until a crowd had been accepted to the last.
    """

    STREAM = 0
    ACCEPT = 1
    CHANGE = 2
    INDEX = 3


class Store:
    """The database of one data folder.

    Reads run in the caller's thread (`reading`); writes run in the writer's (`write`, `submit`). Driver
    errors come out as `database.errors`; an IntegrityError comes out as it is, since only the caller knows what a
    conflict means.
    """

    def __init__(self, path: Path, *, synchronous: str = "normal") -> None:
        self.path = path
        self._readers = KeptConnections(path, synchronous=synchronous, writing=False)
        self._writer = KeptConnections(path, synchronous=synchronous, writing=True)
        self._jobs: queue.PriorityQueue[tuple[int, int, Job[Any] | None, Future[Any]]] = queue.PriorityQueue()
        self._count = itertools.count()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="store-writer", daemon=True)
        self._thread.start()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection whose statements all see one state of the database."""
        try:
            with self._readers.transaction() as connection:
                yield connection
        except dialect.DRIVER_ERRORS as error:
            log.exception("reading failed")
            raise dialect.store_error(error) from error

    def submit(self, job: Job[T], *, urgency: Urgency = Urgency.CHANGE) -> Future[T]:
        """Queue `job`, a function of a connection, as one transaction; the future holds what it returned or raised."""
        future: Future[T] = Future()
        if self._closed:
            future.set_exception(StorageFailedError("The store is closed."))
            return future
        self._jobs.put((urgency, next(self._count), job, future))
        return future

    def write(self, job: Job[T], *, urgency: Urgency = Urgency.CHANGE) -> T:
        """Run `job` as one transaction and wait until it is committed."""
        return self.submit(job, urgency=urgency).result()

    def close(self) -> None:
        """Finish what is queued, then let go of the files."""
        if self._closed:
            return
        self._closed = True
        self._jobs.put((max(Urgency) + 1, next(self._count), None, Future()))
        self._thread.join()
        self._writer.close()
        self._readers.close()

    def _work(self) -> None:
        while True:
            _, _, job, future = self._jobs.get()
            if job is None:
                return
            if future.set_running_or_notify_cancel():
                self._run(job, future)

    def _run(self, job: Job[T], future: Future[T]) -> None:
        try:
            with self._writer.transaction() as connection:
                result = job(connection)
        except IntegrityError as error:
            future.set_exception(error)
        except dialect.DRIVER_ERRORS as error:
            log.exception("writing failed")
            future.set_exception(dialect.store_error(error))
        except BaseException as error:  # noqa: BLE001 - the waiting thread must get it, whatever it is
            future.set_exception(error)
        else:
            future.set_result(result)
