"""The one writer takes jobs in order of urgency."""

from __future__ import annotations

import threading
from functools import partial

import pytest
from sqlalchemy import Connection, insert, select

from database.connection import open_store
from database.errors import InvalidChangeError
from database.schema import login_attempts
from database.store import Urgency


def test_what_was_begun_comes_before_what_begins_and_indexing_comes_last(users_dir: str) -> None:
    store, order, gate = open_store(users_dir), list[str](), threading.Event()
    blocking = store.submit(lambda _: gate.wait(10))
    jobs = [
        store.submit(lambda _, urgency=urgency: order.append(urgency.name), urgency=urgency)
        for urgency in (Urgency.INDEX, Urgency.CHANGE, Urgency.ACCEPT, Urgency.STREAM, Urgency.ACCEPT)
    ]
    gate.set()
    assert blocking.result(10)
    for job in jobs:
        job.result(10)
    assert order == ["STREAM", "ACCEPT", "ACCEPT", "CHANGE", "INDEX"]


def test_jobs_that_share_a_transaction_do_not_share_a_failure(users_dir: str) -> None:
    store, gate = open_store(users_dir), threading.Event()
    blocking = store.submit(lambda _: gate.wait(10))

    def note(number: int, connection: Connection) -> int:
        connection.execute(insert(login_attempts).values(subject=f"{number}", attempted_at="now"))
        if number == 2:
            raise ValueError("not this one")
        return number

    jobs = [store.submit(partial(note, number), urgency=Urgency.ACCEPT) for number in range(5)]
    gate.set()
    assert blocking.result(10)
    assert [job.result(10) for job in jobs if job is not jobs[2]] == [0, 1, 3, 4]
    with pytest.raises(ValueError, match="not this one"):
        jobs[2].result(10)
    with store.reading() as connection:
        assert connection.execute(select(login_attempts.c.subject)).scalars().all() == ["0", "1", "3", "4"]


def test_a_number_that_no_column_can_hold_is_the_callers_mistake(users_dir: str) -> None:
    store, c = open_store(users_dir), login_attempts.c
    too_large = insert(login_attempts).values(attempt_id=2**70, subject="ann", attempted_at="now")
    with pytest.raises(InvalidChangeError):
        store.write(lambda connection: connection.execute(too_large))
    with pytest.raises(InvalidChangeError), store.reading() as connection:
        connection.execute(select(c.subject).where(c.attempt_id == 2**70))
