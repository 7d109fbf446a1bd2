"""Failures that go on are logged when they begin and when they are over."""

from __future__ import annotations

import logging
import time

import pytest

from database.engine.backend import UNEXPLAINED, UNREACHABLE, Outage
from database.engine.database import Database
from database.engine.errors import StorageFailedError, StoreError
from database.schema import sessions


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock: its last item."""
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[-1])
    return now


def test_a_failure_is_logged_once_for_each_reason_and_its_end_with_count_and_duration(
    moment: list[float], caplog: pytest.LogCaptureFixture
) -> None:
    outage = Outage(logging.getLogger("works"), what="it works")
    outage.over()
    for reason in ("away", "away", "full", "away"):
        outage.failed(reason, line=f"It is {reason}.", level=logging.ERROR)
        moment.append(moment[-1] + 2.0)
    outage.over()
    outage.over()
    outage.failed("away")
    outage.over()
    told = ["It is away.", "It is full.", "it works again: failed 4 times in 8.0 s", "away"]
    assert caplog.messages == [*told, "it works again: failed once in 0.0 s"]
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR", "WARNING", "WARNING", "WARNING"]


def test_a_store_that_is_away_is_logged_once_for_reading_and_once_for_writing(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failing = [UNREACHABLE]
    monkeypatch.setattr(type(database.backend), "store_error", lambda _backend, _error: StorageFailedError(failing[0]))

    def read(table: str) -> None:
        with database.reading() as connection:
            connection.exec_driver_sql(f"SELECT 1 FROM {table}")

    def write(table: str) -> None:
        database.write(lambda connection: connection.exec_driver_sql(f"DELETE FROM {table}"))

    def fail(times: int) -> None:
        for work in (read, write) * times:
            with pytest.raises(StoreError):
                work("nowhere")

    fail(3)
    for _ in range(2):
        read(sessions.name)
        write(sessions.name)
    lines = [message.partition(f" {database.backend.name}")[::2] for message in caplog.messages]
    assert [(doing, said.partition(":")[0]) for doing, said in lines] == [
        ("reading", " failed"),
        ("writing", " failed"),
        ("reading", " again"),
        ("writing", " again"),
    ]
    assert all(said.startswith(" again: failed 3 times in ") for _, said in lines[2:])
    failing[0] = UNEXPLAINED
    caplog.clear()
    fail(2)
    assert len(caplog.messages) == 4
    assert all(record.exc_info for record in caplog.records)


def test_one_kind_of_write_that_fails_beside_others_is_no_outage(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(type(database.backend), "store_error", lambda *_: StorageFailedError("The disk is full."))
    for _ in range(2):
        with pytest.raises(StoreError):
            database.write(lambda connection: connection.exec_driver_sql("DELETE FROM nowhere"))
        database.write(lambda connection: connection.exec_driver_sql(f"DELETE FROM {sessions.name}"))
    doing = f"writing {database.backend.name}"
    assert [message.partition(":")[0] for message in caplog.messages] == [f"{doing} failed"] * 2
