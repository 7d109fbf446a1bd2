"""Statements that PostgreSQL gets without anybody waiting for the answers of those before them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.pq import PipelineStatus, TransactionStatus

from database.engine import pipeline
from database.engine.pipeline import PipelinedConnection
from database.engine.statements import Numbered
from tests.postgresql import PostgreSQLServer

INSERT = Numbered("INSERT INTO notes (number, text) VALUES (%(number)s, %(text)s)")
COUNT = Numbered("SELECT count(*) FROM notes")
ECHO = Numbered("SELECT CAST(%(text)s AS text)")


@pytest.fixture
def connection(postgresql_server: PostgreSQLServer) -> Iterator[PipelinedConnection]:
    """A connection with a table of notes."""
    url = postgresql_server.empty_store()
    made = PipelinedConnection.connect(url.replace("postgresql+psycopg", "postgresql", 1), autocommit=True)
    made.execute("CREATE TEMPORARY TABLE notes (number integer PRIMARY KEY, text text)")
    yield made
    made.close()
    postgresql_server.take_back(url)


def prepared(connection: PipelinedConnection) -> int:
    """How many of our prepared statements the server has."""
    rows = connection.execute("SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'anaphora%'").fetchall()
    return int(rows[0][0])


def test_parameters_are_numbered_by_their_names() -> None:
    numbered = Numbered("SELECT %(b)s::text, %(a)s, %(b)s WHERE x LIKE 'a%%' AND y = %(c)s")
    assert numbered.sql == b"SELECT $1::text, $2, $1 WHERE x LIKE 'a%' AND y = $3"
    assert numbered.names == ["b", "a", "c"]


def test_answers_are_those_of_their_statements_whatever_order_they_are_read_in(connection: PipelinedConnection) -> None:
    with connection.sender.pipelined():
        answers = []
        for number in range(5):
            answers.append(connection.sender.send(ECHO, [f"text {number}"]))
            connection.sender.send(INSERT, [number, "a note"])
        counted = connection.sender.send(COUNT, ())
        assert [answer.rows() for answer in reversed(answers)] == [[(f"text {number}",)] for number in range(4, -1, -1)]
        assert counted.rows() == [(5,)]
    assert connection.pgconn.pipeline_status == PipelineStatus.OFF


def test_what_the_driver_does_itself_comes_after_what_was_sent(connection: PipelinedConnection) -> None:
    with connection.sender.pipelined():
        connection.sender.send(INSERT, [1, "a note"])
        assert connection.execute("SELECT text FROM notes").fetchall() == [("a note",)]
        connection.sender.send(INSERT, [2, "another"])
        assert connection.sender.send(COUNT, ()).rows() == [(2,)]


def test_the_first_that_is_refused_is_raised_and_nothing_of_the_transaction_stays(
    connection: PipelinedConnection,
) -> None:
    sender = connection.sender
    for _ in range(3):  # also once statements are prepared
        sender.send(Numbered("BEGIN"), ())
        for number in (1, 1, 2):
            sender.send(INSERT, [number, "a note"])
        with pytest.raises(psycopg.errors.UniqueViolation):
            sender.settle()
        connection.rollback()
        assert connection.info.transaction_status == TransactionStatus.IDLE
        assert sender.send(COUNT, ()).rows() == [(0,)]
        sender.settle()


def test_much_is_sent_and_received_at_once(connection: PipelinedConnection) -> None:
    texts = [chr(97 + number) * 3_000_000 for number in range(8)]
    with connection.sender.pipelined():
        answers = [connection.sender.send(ECHO, [text]) for text in texts]
        assert [answer.rows()[0][0] for answer in answers] == texts


def test_the_server_has_begun_before_anybody_waits_for_it(
    connection: PipelinedConnection, postgresql_server: PostgreSQLServer
) -> None:
    url = postgresql_server.empty_store()
    other = psycopg.connect(url.replace("postgresql+psycopg", "postgresql", 1), autocommit=True)
    held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND granted"
    with connection.sender.pipelined():
        for _ in range(3):
            connection.sender.send(Numbered("SELECT pg_advisory_lock(4711)"), ())
        until = time.monotonic() + 120
        while other.execute(held).fetchone() != (1,):
            assert time.monotonic() < until
    other.close()
    postgresql_server.take_back(url)


def test_statements_are_prepared_when_they_come_again_and_anew_when_the_driver_has_given_up_its_own(
    connection: PipelinedConnection,
) -> None:
    sender = connection.sender

    def count_twice() -> None:
        for _ in range(2):
            assert sender.send(COUNT, ()).rows() == [(0,)]

    assert sender.send(COUNT, ()).rows() == [(0,)]
    assert prepared(connection) == 0
    count_twice()
    assert prepared(connection) == 1
    for _ in range(10):  # the driver prepares what it was asked five times
        connection.execute("SELECT number FROM notes WHERE number = %s", [1])
    connection.execute("BEGIN")
    connection.execute("SAVEPOINT one")
    connection.execute("ROLLBACK TO one")
    count_twice()
    connection.rollback()
    count_twice()
    connection.execute("DROP TABLE IF EXISTS none")
    count_twice()
    assert prepared(connection) == 1


def test_parameters_that_are_refused_leave_the_connection_as_it_was(connection: PipelinedConnection) -> None:
    with connection.sender.pipelined():
        connection.sender.send(INSERT, [1, "a note"])
        with pytest.raises(psycopg.Error):
            connection.sender.send(INSERT, [2, object()])
        assert connection.sender.send(COUNT, ()).rows() == [(1,)]


def test_a_server_that_ends_the_connection_is_an_error_and_the_connection_is_closed(
    connection: PipelinedConnection,
) -> None:
    end = Numbered("SELECT pg_terminate_backend(pg_backend_pid())")
    connection.sender.send(INSERT, [1, "a note"])
    connection.sender.send(end, ())
    connection.sender.send(INSERT, [2, "another"])
    with pytest.raises(psycopg.OperationalError):
        connection.sender.settle()
    with pytest.raises(psycopg.OperationalError):
        connection.rollback()
    assert connection.closed
    with pytest.raises(psycopg.OperationalError):
        connection.sender.send(COUNT, ()).rows()


def test_who_is_interrupted_while_waiting_does_not_take_up_the_answers_of_others(
    connection: PipelinedConnection, postgresql_server: PostgreSQLServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "_SECONDS_TO_CANCEL", 60.0)
    main = threading.get_ident()
    url = postgresql_server.empty_store()
    other = psycopg.connect(url.replace("postgresql+psycopg", "postgresql", 1), autocommit=True)
    running = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"

    def wait_until_running(count: int) -> None:
        until = time.monotonic() + 120
        while other.execute(running).fetchone() != (count,):
            assert time.monotonic() < until

    def interrupt() -> None:
        try:
            wait_until_running(1)
        finally:
            signal.pthread_kill(main, signal.SIGUSR1)

    class StoppedError(Exception):
        """What the signal raises."""

    def stop(*_: object) -> None:
        raise StoppedError

    former = signal.signal(signal.SIGUSR1, stop)
    try:
        threading.Thread(target=interrupt).start()
        answer = connection.sender.send(Numbered("SELECT pg_sleep(600)"), ())
        with pytest.raises(StoppedError):
            answer.rows()
    finally:
        signal.signal(signal.SIGUSR1, former)
    with pytest.raises(psycopg.OperationalError):
        connection.rollback()
    assert connection.closed
    wait_until_running(0)
    other.close()
    postgresql_server.take_back(url)
