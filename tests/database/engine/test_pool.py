"""Connections outlive their transactions, and never carry one over into the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from database.engine import pool
from database.engine.errors import StorageBusyError
from database.engine.pool import KeptConnections
from database.engine.sqlite import SQLiteFile


@pytest.fixture
def connections(tmp_path: Path) -> Iterator[KeptConnections]:
    """One connection to a database with an empty table `notes`."""
    kept = KeptConnections(SQLiteFile(file=tmp_path / "notes.db"), writing=True)
    with kept.transaction() as connection:
        connection.exec_driver_sql("CREATE TABLE notes (text)")
    yield kept
    kept.close()


def notes(kept: KeptConnections) -> list[str]:
    with kept.transaction() as connection:
        return [text for (text,) in connection.exec_driver_sql("SELECT text FROM notes")]


def write(kept: KeptConnections, text: str) -> None:
    with kept.transaction() as connection:
        # Once past SQLAlchemy and once through it: both are of one transaction.
        connection.connection.cursor().execute("INSERT INTO notes VALUES (?)", (text,))
        connection.exec_driver_sql("INSERT INTO notes VALUES (?)", (f"{text} again",))
        if text == "wrong":
            raise ValueError(text)


def tear(kept: KeptConnections) -> None:
    with kept.transaction() as connection:
        connection.connection.driver_connection.close()  # type: ignore[union-attr]
        raise ValueError("torn")


def test_what_raises_takes_all_of_its_transaction_back_and_nothing_of_the_next(connections: KeptConnections) -> None:
    write(connections, "first")
    with pytest.raises(ValueError, match="wrong"):
        write(connections, "wrong")
    write(connections, "second")
    assert notes(connections) == ["first", "first again", "second", "second again"]


def test_a_connection_that_broke_is_replaced(connections: KeptConnections, caplog: pytest.LogCaptureFixture) -> None:
    write(connections, "first")
    with pytest.raises(ValueError, match="torn"):
        tear(connections)
    assert notes(connections) == ["first", "first again"]
    assert caplog.messages == ["a connection to the store was lost"]  # and no traceback of SQLAlchemy's


def test_a_connection_that_broke_while_it_was_idle_is_closed_in_silence(
    connections: KeptConnections, caplog: pytest.LogCaptureFixture
) -> None:
    with connections.transaction() as connection:
        driver = connection.connection.driver_connection
    driver.close()  # type: ignore[union-attr]
    connections.close()
    assert caplog.messages == []


def test_who_waits_too_long_for_a_connection_is_told_to_come_again(
    connections: KeptConnections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_WAIT_SECONDS", 0.01)
    with connections.transaction(), pytest.raises(StorageBusyError):
        notes(connections)
    assert notes(connections) == []


def test_a_connection_that_is_used_while_the_pool_closes_is_closed_afterwards(connections: KeptConnections) -> None:
    with connections.transaction() as connection:
        driver = connection.connection.driver_connection
        connections.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        driver.execute("SELECT 1")  # type: ignore[union-attr]
    assert notes(connections) == []


def test_who_comes_after_the_end_opens_the_file_again_and_leaves_nothing_open(connections: KeptConnections) -> None:
    write(connections, "first")
    connections.close()
    with connections.transaction() as connection:
        driver = connection.connection.driver_connection
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        driver.execute("SELECT 1")  # type: ignore[union-attr]
    assert notes(connections) == ["first", "first again"]
