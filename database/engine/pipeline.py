"""Connections to PostgreSQL that send statements without waiting for the answers of those before them.

The driver has a pipeline of its own, and calls the system once for each statement of it; with its cursor and queue, a
statement took 90 µs of the client's CPU. Here a statement is a message in the buffer of libpq (4 µs, and 10 for its
parameters), and the buffer is sent after a few of them and when an answer is needed. Parameters and rows are the
driver's matter as ever.
https://www.postgresql.org/docs/current/libpq-pipeline-mode.html
"""

from __future__ import annotations

import select
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, cast

import psycopg
from psycopg import capabilities, errors
from psycopg.adapt import PyFormat, Transformer
from psycopg.pq import ConnStatus, DiagnosticField, ExecStatus, PipelineStatus
from psycopg.pq.abc import PGconn, PGresult

from .statements import Numbered

Row = tuple[Any, ...]
_MOST_PREPARED = 200 if capabilities.has_send_close_prepared() else 0
"""So many statements are prepared for a connection, each when it is sent for the second time."""
_SECONDS_TO_CANCEL = 5.0
_SENT_EARLY = frozenset({3, 6, 9})
"""After so many statements in a row the buffer is sent, so that the server works while further ones are made."""
_DEALLOCATING = ("ALTER", "DEALLOCATE", "DISCARD", "DROP", "ROLLBACK")
"""After these the driver deallocates its prepared statements, and with them all others."""


_Key = tuple[bytes, tuple[int, ...]]


class Answer:
    """What the server says to one statement. key: by which it is prepared then."""

    __slots__ = ("_sender", "key", "result")

    def __init__(self, sender: Sender, key: _Key | None = None) -> None:
        self._sender = sender
        self.key = key
        self.result: PGresult | None = None

    def rows(self) -> list[Row]:
        """All rows; none of a statement that returns none. Waits for what was sent. Raises psycopg.Error."""
        if self.result is None:
            self._sender.settle()
        if self.result is None:
            raise errors.OperationalError("the answer to a statement was lost")
        return self._sender.rows_of(self.result)


class Sender:
    """Sends the statements of a connection, which is in pipeline mode until their answers are waited for."""

    def __init__(self, connection: PipelinedConnection) -> None:
        self._connection = connection
        self.is_pipelined = False
        """Whether those who send wait for nothing; see `pipelined`."""
        self.is_lost = False
        """Whether it was interrupted while it waited: nobody knows then what the server has still to say."""
        self._awaited = deque[Answer]()
        self._prepared: dict[_Key, bytes] = {}
        self._known: set[_Key] = set()
        self._given_up = list[bytes]()
        self._numbers = count()
        self._adapter: Any = None  # the driver's Transformer, once what it adapts is registered
        self._poll = select.poll()
        self._poll.register(connection.pgconn.socket, select.POLLIN)

    def send(self, statement: Numbered, values: Sequence[Any]) -> Answer:
        """Send a statement, at the latest together with the next that is waited for. Raises psycopg.Error."""
        adapter = self._adapter
        if adapter is None:
            adapter = self._adapter = Transformer.from_context(self._connection)
        sent = adapter.dump_sequence(values, [PyFormat.AUTO] * len(values))
        key = statement.sql, adapter.types or ()
        pgconn = self._connection.pgconn
        if pgconn.pipeline_status == PipelineStatus.OFF:
            self._enter(pgconn)
        name = self._prepared.get(key)
        if name is None and key in self._known and len(self._prepared) < _MOST_PREPARED:
            name = self._prepare(key)
        if name is None:
            self._known.add(key)
            pgconn.send_query_params(statement.sql, sent, key[1], adapter.formats)
        else:
            pgconn.send_query_prepared(name, sent, adapter.formats)
        answer = Answer(self)
        self._awaited.append(answer)
        if self.is_pipelined and len(self._awaited) in _SENT_EARLY:
            with suppress(psycopg.Error):  # which `settle` raises
                pgconn.flush()
        return answer

    def _enter(self, pgconn: PGconn) -> None:
        if self._connection.closed:
            raise errors.OperationalError("the connection is closed")
        pgconn.enter_pipeline_mode()
        for name in self._given_up:
            pgconn.send_close_prepared(name)  # no error where there is none
            self._awaited.append(Answer(self))
        self._given_up.clear()

    def _prepare(self, key: _Key) -> bytes:
        name = b"anaphora_%d" % next(self._numbers)
        self._connection.pgconn.send_prepare(name, *key)
        self._awaited.append(Answer(self, key))
        self._prepared[key] = name
        return name

    def forget_prepared(self) -> None:
        """Prepare statements anew; the server may have them still, or may not."""
        self._given_up += self._prepared.values()
        self._prepared.clear()

    def settle_unless_pipelined(self) -> None:
        """`settle` outside of `pipelined`."""
        if not self.is_pipelined:
            self.settle()

    def settle(self) -> None:
        """Wait for all answers, and leave pipeline mode. Raises the psycopg.Error of the first that is refused."""
        pgconn = self._connection.pgconn
        if pgconn.pipeline_status == PipelineStatus.OFF:
            return
        if self.is_lost:
            raise errors.OperationalError("an answer was not waited for")
        self.is_lost = True
        try:
            pgconn.pipeline_sync()
            self._flush(pgconn)
        except psycopg.Error:
            if pgconn.status != ConnStatus.BAD:
                raise
            # Why the server has ended the connection may have come.
        refused = self._read_answers(pgconn)
        pgconn.exit_pipeline_mode()
        self.is_lost = False
        if refused is not None:
            raise errors.error_from_result(refused, encoding="utf-8")

    def _read_answers(self, pgconn: PGconn) -> PGresult | None:
        """Give each answer its result; the first that is refused. Raises psycopg.Error where the connection is lost."""
        refused: PGresult | None = None
        try:
            for result in self._results(pgconn):
                is_refused = result.status in {ExecStatus.FATAL_ERROR, ExecStatus.PIPELINE_ABORTED}
                if is_refused and refused is None:
                    refused = result
                if not self._awaited:
                    continue  # what was refused is the end of all
                answer = self._awaited.popleft()
                answer.result = result
                if is_refused and answer.key is not None:
                    self._prepared.pop(answer.key, None)
        except psycopg.Error:
            # What the server said says more than that it is gone.
            if refused is not None and refused.error_field(DiagnosticField.SQLSTATE):
                raise errors.error_from_result(refused, encoding="utf-8") from None
            raise
        return refused

    def _flush(self, pgconn: PGconn) -> None:
        """Send what is in the buffer; read meanwhile what the server says, which would wait for us otherwise."""
        while pgconn.flush():
            self._poll.modify(pgconn.socket, select.POLLIN | select.POLLOUT)
            try:
                events = self._poll.poll()
            finally:
                self._poll.modify(pgconn.socket, select.POLLIN)
            if any(event & ~select.POLLOUT for _, event in events):
                pgconn.consume_input()

    def _results(self, pgconn: PGconn) -> Iterator[PGresult]:
        """The results of all statements until the end of what was sent."""
        while True:
            while pgconn.is_busy():
                self._poll.poll()
                pgconn.consume_input()
            result = pgconn.get_result()
            if result is None:  # a statement's results end so
                if pgconn.status == ConnStatus.BAD:
                    raise errors.OperationalError("the connection is lost")
                continue
            if result.status == ExecStatus.PIPELINE_SYNC:
                return
            yield result

    def rows_of(self, result: PGresult) -> list[Row]:
        """The rows of a result. Raises psycopg.Error where it is none."""
        if result.status == ExecStatus.COMMAND_OK:
            return []
        if result.status != ExecStatus.TUPLES_OK:
            raise errors.error_from_result(result, encoding="utf-8")
        self._adapter.set_pgresult(result)
        try:
            rows: list[Row] = self._adapter.load_rows(0, result.ntuples, tuple)
        finally:
            self._adapter.set_pgresult(None)  # it would keep the result until the next one
        return rows

    @contextmanager
    def pipelined(self) -> Iterator[None]:
        """Within the block those who send statements wait for nothing but rows; its end waits for all answers.

        Within another such block it is a part of that one. Raises psycopg.Error.
        """
        if self.is_pipelined:
            yield
            return
        self.is_pipelined = True
        try:
            yield
            self.settle()
        finally:
            self.is_pipelined = False


class _Cursor(psycopg.Cursor[Any]):
    """The driver's cursor: it waits for the answers to what was sent, and says what it has done to what is prepared."""

    def execute(self, *arguments: Any, **options: Any) -> Any:
        """As the driver does."""
        with self._settled():
            return super().execute(*arguments, **options)

    def executemany(self, *arguments: Any, **options: Any) -> None:
        """As the driver does."""
        with self._settled():
            super().executemany(*arguments, **options)

    def copy(self, *arguments: Any, **options: Any) -> Any:
        """As the driver does."""
        with self._settled():
            return super().copy(*arguments, **options)

    def stream(self, *arguments: Any, **options: Any) -> Any:
        """As the driver does."""
        with self._settled():
            return super().stream(*arguments, **options)

    @contextmanager
    def _settled(self) -> Iterator[None]:
        sender = cast(PipelinedConnection, self.connection).sender
        sender.settle()
        try:
            yield
        finally:
            if (self.statusmessage or "").startswith(_DEALLOCATING):
                sender.forget_prepared()


class PipelinedConnection(psycopg.Connection[Any]):
    """A connection with a `Sender`; whatever the driver itself is asked to do waits for its answers first."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cursor_factory = _Cursor
        self.sender = Sender(self)

    def cursor(self, name: str = "", **options: Any) -> Any:
        """A cursor of the driver's; one of the server's (`name`) once all answers have come."""
        if name:
            self.sender.settle()
        return super().cursor(name, **options)

    def commit(self) -> None:
        """Commit, once all answers have come."""
        self.sender.settle()
        super().commit()

    def rollback(self) -> None:
        """Roll back, whatever the answers are that have not come."""
        with suppress(psycopg.Error):
            self.sender.settle()
        if self.sender.is_lost:
            if self.pgconn.status != ConnStatus.BAD:
                with suppress(psycopg.Error):
                    self.cancel_safe(timeout=_SECONDS_TO_CANCEL)  # the server would go on, and keep its locks
            self.close()
        super().rollback()
        self.sender.forget_prepared()
