"""Connections that stay open, with transactions that are cheap to begin and to end.

SQLAlchemy's own pool creates, begins, resets and discards a transaction object for each use, which takes longer than
most of our transactions do.
"""

from __future__ import annotations

import logging
import queue
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlalchemy import Connection

from database.errors import StorageBusyError

from .backend import Backend

log = logging.getLogger(__name__)
_WAIT_SECONDS = 30.0


class KeptConnections:
    """Up to `count` connections to one database, each used by one thread at a time and opened when first needed."""

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
