"""The one writer takes jobs in order of urgency."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert, select

import tracing
from database.accounts.users import create_user
from database.connection import close_store, open_store
from database.engine import sqlite
from database.engine.database import Database, Urgency
from database.engine.errors import (
    DatabaseDamagedError,
    InvalidChangeError,
    SearchIndexDamagedError,
    StorageBusyError,
    StorageFailedError,
    StoreError,
)
from database.engine.sqlite import SQLiteFile
from database.engine.statements import Asking
from database.schema import login_attempts

pytestmark = pytest.mark.contract


def test_what_was_begun_comes_before_what_begins_and_indexing_comes_last(users_dir: str) -> None:
    store, order, begun, gate = open_store(users_dir), list[str](), threading.Event(), threading.Event()
    blocking = store.submit(lambda _: (begun.set(), gate.wait(60))[1])
    assert begun.wait(60)
    jobs = [
        store.submit(lambda _, urgency=urgency: order.append(urgency.name), urgency=urgency)
        for urgency in (Urgency.INDEX, Urgency.CHANGE, Urgency.ACCEPT, Urgency.STREAM, Urgency.ACCEPT)
    ]
    gate.set()
    assert blocking.result(60)
    for job in jobs:
        job.result(60)
    assert order == ["STREAM", "ACCEPT", "ACCEPT", "CHANGE", "INDEX"]


def test_jobs_that_share_a_transaction_do_not_share_a_failure(users_dir: str) -> None:
    store, gate = open_store(users_dir), threading.Event()
    blocking = store.submit(lambda _: gate.wait(60))

    def note(number: int, connection: Connection) -> int:
        connection.execute(insert(login_attempts).values(subject=f"{number}", attempted_at="now"))
        if number == 2:
            raise ValueError("not this one")
        return number

    jobs = [store.submit(partial(note, number), urgency=Urgency.ACCEPT) for number in range(5)]
    gate.set()
    assert blocking.result(60)
    assert [job.result(60) for job in jobs if job is not jobs[2]] == [0, 1, 3, 4]
    with pytest.raises(ValueError, match="not this one"):
        jobs[2].result(60)
    with store.reading() as connection:
        assert connection.execute(select(login_attempts.c.subject)).scalars().all() == ["0", "1", "3", "4"]


def test_jobs_of_requests_that_share_a_transaction_ask_together_unless_they_are_about_the_same(users_dir: str) -> None:
    store, order, begun, gate = open_store(users_dir), list[str](), threading.Event(), threading.Event()
    blocking = store.submit(lambda _: (begun.set(), gate.wait(60))[1])
    assert begun.wait(60)

    def ask(name: str, _connection: Connection) -> Callable[[], str]:
        order.append(f"{tracing.began_by.get()}: ask {name}")

        def act() -> str:
            order.append(f"{tracing.began_by.get()}: act {name}")
            return name

        return act

    names = [("1", "a"), ("2", "b"), ("3", "a"), ("4", "b")]
    jobs: list[Future[Any]] = []
    for number, subject in names:
        with tracing.of_request(f"request {number}"):
            jobs.append(store.submit(Asking(partial(ask, number), subject=subject), urgency=Urgency.ACCEPT))
    jobs.append(store.submit(lambda _: order.append("another"), urgency=Urgency.ACCEPT))
    gate.set()
    assert blocking.result(60)
    assert [job.result(60) for job in jobs] == ["1", "2", "3", "4", None]
    together = ["ask 1", "ask 2", "act 1", "act 2", "ask 3", "ask 4", "act 3", "act 4"]
    assert order == [*(f"request {step[-1]}: {step}" for step in together), "another"]


def test_a_write_runs_in_the_calling_thread_only_while_no_submitted_job_waits(users_dir: str) -> None:
    store, order, gate = open_store(users_dir), list[str](), threading.Event()
    assert store.write(lambda _: threading.current_thread()) is threading.current_thread()
    blocking = store.submit(lambda _: gate.wait(60))
    waiting = store.submit(lambda _: order.append("submitted"), urgency=Urgency.STREAM)
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(store.write, lambda _: order.append(threading.current_thread().name))
        gate.set()
        assert blocking.result(60)
        waiting.result(60)
        written.result(60)
    assert order[0] == "submitted"


def test_a_loop_awaits_what_its_jobs_return_or_raise(users_dir: str) -> None:
    store = open_store(users_dir)

    def fail(_connection: Connection) -> None:
        raise InvalidChangeError("No.")

    async def ask() -> list[Any]:
        jobs = [store.submit_on_loop(lambda _: "done"), store.submit_on_loop(fail, urgency=Urgency.STREAM)]
        return await asyncio.gather(*jobs, return_exceptions=True)

    done, refused = asyncio.run(ask())
    assert (done, str(refused)) == ("done", "No.")


def test_a_job_whose_loop_gave_it_up_before_it_began_is_not_run(users_dir: str) -> None:
    store, ran, gate = open_store(users_dir), list[str](), threading.Event()

    async def give_up() -> None:
        blocking = store.submit_on_loop(lambda _: gate.wait(60))
        job = store.submit_on_loop(lambda _: ran.append("given up"))
        job.cancel()
        gate.set()
        assert await blocking

    asyncio.run(give_up())
    store.submit(lambda _: ran.append("later")).result(60)
    assert ran == ["later"]


def test_the_writer_outlives_the_loop_of_a_job(users_dir: str) -> None:
    store, ran, gate = open_store(users_dir), list[str](), threading.Event()

    async def leave() -> None:
        store.submit_on_loop(lambda _: gate.wait(60))
        store.submit_on_loop(lambda _: ran.append("for a loop that is closed"))

    asyncio.run(leave())
    gate.set()
    store.submit(lambda _: ran.append("later")).result(60)
    assert ran[-1] == "later"


def test_a_submitted_job_waits_for_a_write_in_a_calling_thread_and_so_does_the_end(tmp_path: Path) -> None:
    store, begun, gate = (
        Database(SQLiteFile(file=tmp_path / "users.db"), folder=tmp_path),
        threading.Event(),
        threading.Event(),
    )

    def hold(_connection: Connection) -> str:
        begun.set()
        gate.wait(60)
        return "written"

    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(store.write, hold)
        assert begun.wait(60)
        submitted = store.submit(lambda _: writing.done())
        closing = pool.submit(store.close)
        assert not closing.done()
        gate.set()
        assert writing.result(60) == "written"
        submitted.result(60)
        closing.result(60)
    with pytest.raises(StorageFailedError, match="closed"):
        store.write(lambda _: None)


def test_a_write_that_fails_in_the_calling_thread_is_taken_back_and_lets_others_write(users_dir: str) -> None:
    store = open_store(users_dir)

    def fail(connection: Connection) -> None:
        connection.execute(insert(login_attempts).values(subject="ann", attempted_at="now"))
        raise ValueError("not this one")

    with pytest.raises(ValueError, match="not this one"):
        store.write(fail)
    assert store.submit(lambda connection: connection.execute(select(login_attempts.c.subject)).all()).result(60) == []


def test_a_number_that_no_column_can_hold_is_the_callers_mistake(users_dir: str) -> None:
    store, c = open_store(users_dir), login_attempts.c
    too_large = insert(login_attempts).values(attempt_id=2**70, subject="ann", attempted_at="now")
    with pytest.raises(InvalidChangeError):
        store.write(lambda connection: connection.execute(too_large))
    with pytest.raises(InvalidChangeError), store.reading() as connection:
        connection.execute(select(c.subject).where(c.attempt_id == 2**70))


def failing(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("words that say nothing")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("error", "kind", "word"),
    [
        (failing(sqlite3.SQLITE_BUSY_SNAPSHOT), StorageBusyError, "busy"),
        (failing(sqlite3.SQLITE_LOCKED), StorageBusyError, "busy"),
        (failing(sqlite3.SQLITE_FULL), StorageFailedError, "full"),
        (failing(sqlite3.SQLITE_IOERR_WRITE), StorageFailedError, "full"),
        (failing(sqlite3.SQLITE_READONLY_DBMOVED), StorageFailedError, "permissions"),
        (failing(sqlite3.SQLITE_CANTOPEN), StorageFailedError, "permissions"),
        (failing(sqlite3.SQLITE_CORRUPT_INDEX), DatabaseDamagedError, "restore"),
        (failing(sqlite3.SQLITE_CORRUPT_VTAB), SearchIndexDamagedError, "anew"),
        (failing(sqlite3.SQLITE_NOTADB), DatabaseDamagedError, "restore"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), DatabaseDamagedError, "restore"),
        (sqlite3.OperationalError("Could not decode to UTF-8 column 'x'"), DatabaseDamagedError, "restore"),
        (sqlite3.OperationalError("database is full of busy locks"), StorageFailedError, "log"),
    ],
)
def test_what_the_driver_raises_is_told_apart_by_its_code_and_not_by_its_words(
    error: Exception, kind: type[StoreError], word: str
) -> None:
    failure = sqlite.store_error(error)
    assert type(failure) is kind
    assert word in failure.message


def test_whoever_submits_while_the_store_closes_gets_an_answer(tmp_path: Path) -> None:
    store, submitted = Database(SQLiteFile(file=tmp_path / "users.db"), folder=tmp_path), threading.Event()
    put = store._jobs.put

    def close_meanwhile(job: Any) -> None:
        if not submitted.is_set():
            submitted.set()
            closing.append(pool.submit(store.close))
            # The one that closes can't come between the look at the store and this job: it waits for the lock.
            assert store._closing.locked()
        put(job)

    closing: list[Future[None]] = []
    store._jobs.put = close_meanwhile  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as pool:
        assert store.submit(lambda _: "done").result(60) == "done"
        closing[0].result(60)
    with pytest.raises(StorageFailedError, match="closed"):
        store.submit(lambda _: None).result(60)


@pytest.mark.parametrize(("setting", "pragma"), [("normal", 1), ("full", 2)])
def test_commits_are_as_durable_as_the_setting_says(tmp_path: Path, setting: str, pragma: int) -> None:
    store = open_store(tmp_path, synchronous=setting)
    asked = "PRAGMA synchronous"
    assert store.write(lambda connection: connection.exec_driver_sql(asked).scalar()) == pragma
    with store.reading() as connection:
        assert connection.exec_driver_sql(asked).scalar() == pragma
    close_store(tmp_path)


def noted(store: Database) -> list[str]:
    with store.reading() as connection:
        return list(connection.execute(select(login_attempts.c.subject)).scalars())


def note_subject(connection: Connection, subject: str) -> None:
    connection.execute(insert(login_attempts).values(subject=subject, attempted_at="now"))


def write_and_fail(store: Database) -> None:
    with store.writing(timeout=60) as connection:
        note_subject(connection, "second")
        raise ValueError("not this one")


@pytest.mark.parametrize("is_handed_over", [False, True])
def test_a_thread_that_writes_by_itself_commits_at_the_end_and_rolls_back_where_it_raises(
    users_dir: str, is_handed_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(users_dir)
    if is_handed_over:
        monkeypatch.setattr(store, "_begin_writing_here", lambda urgency: False)
    with store.writing(timeout=60) as connection:
        note_subject(connection, "first")
        assert noted(store) == []
    with pytest.raises(ValueError, match="not this one"):
        write_and_fail(store)
    assert noted(store) == ["first"]


def test_a_thread_that_writes_by_itself_waits_its_turn_and_nobody_writes_meanwhile(users_dir: str) -> None:
    store, order, gate = open_store(users_dir), list[str](), threading.Event()
    blocking = store.submit(lambda _: gate.wait(60))
    waiting = store.submit(lambda _: order.append("submitted before"))
    with ThreadPoolExecutor(1) as pool:

        def write() -> None:
            with store.writing(timeout=60):
                later.append(store.submit(lambda _: order.append("submitted meanwhile"), urgency=Urgency.STREAM))
                order.append("by itself")

        later = list[Future[None]]()
        written = pool.submit(write)
        gate.set()
        assert blocking.result(60)
        waiting.result(60)
        written.result(60)
        later[0].result(60)
    assert order == ["submitted before", "by itself", "submitted meanwhile"]


def test_a_thread_whose_turn_does_not_come_in_time_is_told_so_and_writes_nothing(users_dir: str) -> None:
    store, gate = open_store(users_dir), threading.Event()
    blocking = store.submit(lambda _: gate.wait(60))
    with pytest.raises(StorageBusyError), store.writing(timeout=0.01):
        pytest.fail("it was not its turn")
    gate.set()
    assert blocking.result(60)
    assert store.write(lambda _: "others write") == "others write"


def test_a_closed_store_hands_out_no_connection(tmp_path: Path) -> None:
    store = Database(SQLiteFile(file=tmp_path / "users.db"), folder=tmp_path)
    store.close()
    with pytest.raises(StorageFailedError, match="closed"), store.writing(timeout=1):
        pytest.fail("it is closed")


def test_the_writer_maps_less_of_the_file_than_readers(tmp_path: Path) -> None:
    """What is mapped counts as memory of the process."""
    database = open_store(str(tmp_path))
    asked = "PRAGMA mmap_size"
    assert database.write(lambda connection: connection.exec_driver_sql(asked).scalar_one()) == 32 * 2**20
    with database.reading() as connection:
        assert connection.exec_driver_sql(asked).scalar_one() == 256 * 2**20
    close_store(str(tmp_path))


def test_who_reads_much_of_the_store_maps_nothing_of_its_file(tmp_path: Path) -> None:
    database = open_store(str(tmp_path))

    def opened() -> int:
        files = (os.path.realpath(each) for each in Path("/proc/self/fd").iterdir())
        return sum(file == str(database.file.resolve()) for file in files)

    create_user(database=database, user_email="ada@example.org", password="at least twelve")
    counts = [opened()]
    for _ in range(3):
        with database.read_apart() as apart, apart.reading() as connection, apart.reading() as other:
            assert connection.exec_driver_sql("SELECT user_email FROM users").scalar_one() == "ada@example.org"
            assert other.exec_driver_sql("PRAGMA mmap_size").scalar_one() == 0
        counts.append(opened())
    # SQLite closes files only when nobody holds a lock of them any more, and meanwhile takes them for new connections.
    assert counts[0] < counts[1] == counts[2] == counts[3]
    with database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA mmap_size").scalar_one() > 0
    close_store(str(tmp_path))
