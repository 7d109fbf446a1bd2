"""Connections that stay open, and whose transactions cost next to nothing to begin and to end.

An engine's own pool makes, begins, resets and takes apart a transaction object for each use, which takes longer than
most of our transactions do.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sqlalchemy import Connection

from database.errors import StorageBusyError

from . import sqlite

log = logging.getLogger(__name__)
_WAIT_SECONDS = 30.0


class KeptConnections:
    """Up to `count` connections to one database, each used by one thread at a time and opened when first needed."""

    def __init__(
        self, path: Path, *, synchronous: str, writing: bool, busy_timeout_ms: int = sqlite.BUSY_TIMEOUT_MS
    ) -> None:
        """`busy_timeout_ms`: how long a statement waits for what another process has locked."""
        count = 1 if writing else sqlite.READERS
        self._engine = sqlite.bare_engine(
            path, synchronous=synchronous, connections=count, busy_timeout_ms=busy_timeout_ms
        )
        self._beginning = sqlite.beginning(writing=writing)
        # The one used last comes first: what it has read of the database is still in its memory.
        self._idle: queue.LifoQueue[Connection | None] = queue.LifoQueue()
        for _ in range(count):
            self._idle.put(None)

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A connection within a transaction, committed at the end; when something is raised, taken back.

        Raises StorageBusyError where all connections are in use for long, and the driver's errors.
        """
        connection = self._take()
        try:
            connection.connection.cursor().execute(self._beginning)
            yield connection
            _commit(connection)
        except BaseException:
            self._idle.put(_taken_back(connection))
            raise
        self._idle.put(connection)

    def close(self) -> None:
        """Let go of the files; who comes later opens them again."""
        idle: list[Connection | None] = []
        with suppress(queue.Empty):
            while True:
                idle.append(self._idle.get_nowait())
        for connection in idle:
            if connection is not None:
                connection.close()
            self._idle.put(None)
        self._engine.dispose()

    def _take(self) -> Connection:
        try:
            connection = self._idle.get(timeout=_WAIT_SECONDS)
        except queue.Empty:
            raise StorageBusyError("The server is reading too much at once. Try again in a moment.") from None
        if connection is not None:
            return connection
        try:
            return self._engine.connect()
        except BaseException:
            self._idle.put(None)
            raise


def _commit(connection: Connection) -> None:
    if connection.in_transaction():
        connection.commit()  # it was begun by us, but SQLAlchemy took part in it
    else:
        connection.connection.commit()


def _taken_back(connection: Connection) -> Connection | None:
    """The connection, its transaction undone; None where it could not be, and had to be thrown away."""
    with suppress(*sqlite.DRIVER_ERRORS):
        if connection.get_transaction() is not None:
            connection.rollback()
        if not connection.invalidated:
            connection.connection.rollback()
            return connection
    log.warning("a connection to the store had to be given up")
    with suppress(*sqlite.DRIVER_ERRORS):
        connection.close()
    return None
