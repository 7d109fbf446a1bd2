"""What the store needs to know of one kind of database; `sqlite` and `postgresql` each have one `Backend`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, Self

from sqlalchemy import Engine

from .errors import InvalidChangeError, StorageFailedError, StoreError

log = logging.getLogger(__name__)
UNREACHABLE = "The database server can't be reached. Try again in a moment."
UNEXPLAINED = "The database can't be read or written. See the server's log."
"""The message of a failure whose code tells a person nothing; the log holds its traceback."""


class ServerHold(Protocol):
    """A server's hold on its database. A crash lets go of it. The methods raise StoreError."""

    def is_held(self) -> bool:
        """Whether it holds still; it is taken again where the connection that held it is gone."""

    def is_alone(self) -> bool:
        """Whether no other server can hold the database: nobody did when this one came, and `share` was not called."""

    def share(self) -> None:
        """Let others hold the database too, where several servers may work on it."""

    def take_again(self, *, after: float) -> None:
        """Let go of it, and take it after so many seconds: alone only if no other server has taken it by then."""


class Backend(Protocol):
    """One database: how to connect to it, how to begin a transaction, and what its errors mean."""

    @property
    def name(self) -> str:
        """What log lines call the database. It holds no secret."""

    @property
    def file(self) -> Path | None:
        """The file that holds the database; None for a database server."""

    @property
    def readers(self) -> int:
        """How many connections may read at the same time."""

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What SQLAlchemy and the driver raise."""

    def engine(self, *, connections: int, writing: bool) -> Engine:
        """An engine for the writer or for readers, with at most `connections`; it begins no transaction by itself."""

    def begins(self, *, writing: bool) -> Callable[[Any], object]:
        """What begins a transaction on a connection of the driver: a reader's has one snapshot, a writer's the lock.

        In a pipeline nobody waits for it. It raises what the driver raises, also where the connection broke since it
        was used last.
        """

    def check(self, connection: Any) -> None:
        """Raise what the driver raises where the server has ended the connection since it was used last.

        It asks only where something came from the server. A database without a server has nothing to check.
        """

    def unmapped(self) -> Self:
        """The same database for a reader of much of it, who maps nothing of its file; itself where none is mapped."""

    @property
    def is_shared(self) -> bool:
        """Whether several servers may work on it at the same time."""

    def held_for_server(self) -> AbstractContextManager[ServerHold]:
        """Hold the database for a server until the block ends, alone where nobody else does. Raises StoreError."""

    def store_error(self, error: Exception) -> StoreError:
        """The StoreError for `error`, one of `errors`."""


class Outage:
    """One kind of work that may fail again and again. Thread-safe.

    what: as the log names it. is_on: whether it has failed since it was done last.
    """

    def __init__(self, log: logging.Logger, *, what: str) -> None:
        self.is_on = False
        self._log = log
        self._what = what
        self._lock = threading.Lock()
        self._reasons = set[str]()
        self._count = 0
        self._began_at = 0.0

    def failed(self, reason: str, *, line: str = "", level: int = logging.WARNING) -> None:
        """Note a failure; the first one with this reason is logged: as `line`, or as the reason."""
        with self._lock:
            is_new = reason not in self._reasons
            self._began_at = self._began_at if self.is_on else time.monotonic()
            self._reasons.add(reason)
            self._count += 1
            self.is_on = True
        if is_new:
            self._log.log(level, "%s", line or reason)

    def over(self) -> None:
        """Note that the work was done. Where it had failed before, how often and for how long is logged."""
        with self._lock:
            count, seconds = self._count, time.monotonic() - self._began_at
            was_on, self.is_on, self._count = self.is_on, False, 0
            self._reasons.clear()
        if was_on:
            times = "once" if count == 1 else f"{count} times"
            self._log.warning("%s again: failed %s in %.1f s", self._what, times, seconds)


def log_failure(failure: StoreError, error: Exception, *, doing: str, outage: Outage) -> StoreError:
    """`failure`, after a line in the log; with the traceback of `error` only where its code doesn't explain it.

    Statements and their parameters are not logged: they hold what people wrote. doing: what failed, e.g. "reading x".
    outage: a server that is away is logged when that begins and when it is over; while it is, nothing else succeeds.
    """
    if isinstance(failure, InvalidChangeError):
        return failure
    line = f"{doing} failed: {getattr(error, 'orig', error)}"
    if type(failure) is StorageFailedError and failure.message == UNREACHABLE:
        outage.failed(failure.message, line=line, level=logging.ERROR)
    else:
        log.error("%s", line, exc_info=error if failure.message == UNEXPLAINED else None)
    return failure
