"""What a server does beside answering goes on, whatever goes wrong with it."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from chat.context.knowledge import KnowledgeAccess
from chat.processes.duties import EVERY_DUTY, Duties
from chat.runtime import jobs, upkeep
from database.connection import open_store
from database.engine.clock import now
from database.engine.database import Database
from database.engine.errors import StorageFailedError
from database.jobs import Job
from database.maintenance import purging
from search.meaning import MessageVectors
from vault.documents import Vaults
from vault.upkeep import VaultWatcher


class Faulty:
    """Fails at first, then works: `done` counts what was done."""

    def __init__(self, *faults: Exception) -> None:
        self.faults = list(faults)
        self.done = 0

    def __call__(self, *, database: Database) -> None:
        assert database
        if self.faults:
            raise self.faults.pop()
        self.done += 1


def keep_up_until(condition: Callable[[], bool], database: Database, *, duties: Duties = EVERY_DUTY) -> None:
    knowledge = KnowledgeAccess(database.folder)
    vectors = MessageVectors(database=database, model=lambda: None)

    async def keep() -> None:
        vaults = Vaults(database=database)
        task = asyncio.create_task(
            upkeep.keep_up(database=database, knowledge=knowledge, vectors=vectors, vaults=vaults, duties=duties)
        )
        async with asyncio.timeout(120):
            while not condition() and not task.done():
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(keep())
    knowledge.close()


def test_no_surprise_ends_indexing_or_purging_and_what_failed_is_tried_again_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = open_store(tmp_path)
    index, events, the_bin = Faulty(RuntimeError("A bug.")), Faulty(RuntimeError("A bug.")), Faulty(OSError("Gone."))
    for name, work in (("index_pending", index), ("purge_events", events), ("purge_bin", the_bin)):
        monkeypatch.setattr(upkeep, name, work)
    for name, seconds in (("_EVERY", 0.01), ("_AFTER_FAILURE", 0.01)):
        monkeypatch.setattr(upkeep, name, seconds)
    monkeypatch.setattr(jobs, "RETRY_SECONDS", 0.01)
    with caplog.at_level(logging.ERROR):
        keep_up_until(lambda: bool(events.done and the_bin.done and index.done > 1), database)
    assert (events.done, the_bin.done) == (1, 1)
    failed = sorted(message for message in caplog.messages if message.endswith("failed"))
    assert failed == ["the job purge_bin failed", "the job purge_events failed", "upkeep of the search index failed"]


def test_nothing_old_is_purged_while_the_clock_may_be_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = open_store(tmp_path)
    purged = list[str]()
    for name in ("purge_bin", "purge_usage", "purge_agents", "expire_proposals", "purge_bins"):
        monkeypatch.setattr(upkeep, name, lambda *_, name=name, **__: purged.append(name))
    knowledge, vaults = KnowledgeAccess(database.folder), Vaults(database=database)
    work = upkeep.ServerWork(
        sweep_files=lambda: purged.append("sweep_files"), purge_audit_log=lambda: purged.append("purge_audit_log")
    )
    kinds = upkeep._hourly(database, knowledge, vaults, VaultWatcher(vaults), work)
    job = Job(**dict.fromkeys(Job.__dataclass_fields__))
    moment = now()
    for moved, is_purged in ((0, True), (3_650, False), (0, False), (1, True)):
        monkeypatch.setattr(purging, "now", lambda moved=moved: moment + timedelta(days=moved))
        purged.clear()
        for kind in kinds:
            kind.step(job)
        assert (len(purged) == 7, not purged) == (is_purged, not is_purged), moved
    knowledge.close()


def test_work_that_has_more_to_do_goes_on_at_once_and_rests_when_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    results = iter([True, True, False, 1])

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 5:
            raise asyncio.CancelledError

    monkeypatch.setattr(upkeep.asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(upkeep.Upkeep().repeat(lambda: next(results), what="tried", every=7.0))
    assert pauses[:5] == [0.0, 0, 0, 7.0, 7.0]


def test_work_that_has_to_wait_is_logged_when_that_begins_and_when_it_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pauses: list[float] = []
    away, full = StorageFailedError("It is away."), StorageFailedError("It is full.")
    results: list[object] = [0, away, away, full, away, 0, 0, away, 0]

    def work() -> object:
        result = results[len(pauses) - 1]
        if isinstance(result, Exception):
            raise result
        return result

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) > len(results):
            raise asyncio.CancelledError

    monkeypatch.setattr(upkeep.asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(upkeep.Upkeep().repeat(work, what="tries"))
    told = [message.partition(" in ")[0] for message in caplog.messages]
    assert told == [
        "upkeep of tries has to wait: It is away.",
        "upkeep of tries has to wait: It is full.",
        "upkeep of tries goes on again: failed 4 times",
        "upkeep of tries has to wait: It is away.",
        "upkeep of tries goes on again: failed once",
    ]


@pytest.mark.parametrize("is_short", [True, False])
def test_short_work_is_waited_for_when_a_server_ends(monkeypatch: pytest.MonkeyPatch, is_short: bool) -> None:
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()
    monkeypatch.setattr(upkeep, "_ENDING_SECONDS", 20.0 if is_short else 0.1)

    def work() -> None:
        begun.set()
        may_end.wait(20)
        ended.set()

    async def cancel_while_it_works() -> bool:
        task = asyncio.create_task(upkeep.Upkeep().repeat(work, what="tried"))
        assert await asyncio.to_thread(begun.wait, 20)
        task.cancel()
        if is_short:
            asyncio.get_running_loop().call_later(0.1, may_end.set)
        await asyncio.wait([task])
        return ended.is_set()

    assert asyncio.run(cancel_while_it_works()) == is_short
    may_end.set()
    assert ended.wait(20)


def test_work_rests_while_nobody_writes_and_goes_on_after_a_commit_of_any_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_store(tmp_path)
    monkeypatch.setattr(upkeep, "_STATE_SECONDS", 0.0)
    looks = [0]

    async def keep() -> None:
        stores = upkeep.Stores([database.file])

        async def until_at_rest() -> None:
            while True:
                seen = looks[0]
                await asyncio.sleep(0.3)
                if looks[0] == seen:
                    return

        def work() -> None:
            looks[0] += 1

        task = asyncio.create_task(upkeep.Upkeep(stores=stores).repeat(work, what="tried", every=0.01, at_rest=3_600.0))
        async with asyncio.timeout(120):
            await until_at_rest()
            for commit in (commit_here, commit_elsewhere):
                seen = looks[0]
                commit()
                while looks[0] == seen:
                    await asyncio.sleep(0.01)
                await until_at_rest()
        task.cancel()

    def commit_here() -> None:
        database.write(lambda connection: connection.exec_driver_sql("PRAGMA user_version = 0"))

    def commit_elsewhere() -> None:
        script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('CREATE TABLE tried (i)').close()"
        subprocess.run([sys.executable, "-c", script, str(database.file)], check=True)

    asyncio.run(keep())
    database.close()


def test_work_is_done_again_where_somebody_wrote_while_it_was_at_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = open_store(tmp_path)
    monkeypatch.setattr(upkeep, "_STATE_SECONDS", 0.0)
    looks = [0]

    def work() -> None:
        looks[0] += 1
        if looks[0] == 1:
            database.write(lambda connection: connection.exec_driver_sql("PRAGMA user_version = 0"))
            time.sleep(0.3)  # so long after it, the state of the file is a settled one

    async def keep() -> None:
        repeated = upkeep.Upkeep(stores=upkeep.Stores([database.file]))
        task = asyncio.create_task(repeated.repeat(work, what="tried", every=0.01, at_rest=3_600.0))
        async with asyncio.timeout(30):
            while looks[0] < 2:
                await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(keep())
    database.close()


def test_work_that_has_more_to_do_goes_on_although_nobody_writes(tmp_path: Path) -> None:
    database = open_store(tmp_path)
    results = iter([True, True, True, False])
    left = [True]

    def work() -> bool:
        time.sleep(0.2)
        left[0] = next(results)
        return left[0]

    async def keep() -> None:
        repeated = upkeep.Upkeep(stores=upkeep.Stores([database.file]))
        task = asyncio.create_task(repeated.repeat(work, what="tried", every=0.01, at_rest=3_600.0))
        async with asyncio.timeout(30):
            while left[0]:
                await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(keep())
    database.close()


def test_work_of_another_server_is_not_done_here() -> None:
    done: list[str] = []

    class Own(type(EVERY_DUTY)):  # type: ignore[misc]
        def holds(self, name: str) -> bool:
            return name == "mine"

    async def keep() -> None:
        shared = upkeep.Upkeep(Own())
        tasks = [
            asyncio.create_task(shared.repeat(lambda what=what: done.append(what), what=what, every=0.01))
            for what in ("theirs", "mine")
        ]
        async with asyncio.timeout(60):
            while done.count("mine") < 5:
                await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()

    asyncio.run(keep())
    assert set(done) == {"mine"}


def test_both_files_of_a_server_that_is_alone_are_looked_at_and_none_of_one_beside_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, asked = open_store(tmp_path), list[list[str]]()

    class Noting(upkeep.Stores):
        def __init__(self, files: Sequence[Path] = ()) -> None:
            super().__init__(files)
            asked.append([file.name for file in files])

    monkeypatch.setattr(upkeep, "Stores", Noting)
    for duties in (EVERY_DUTY, type(EVERY_DUTY)()):
        asked.clear()
        keep_up_until(lambda: bool(asked), database, duties=duties)
        assert asked[0] == (["users.db", "pkb.sqlite"] if duties is EVERY_DUTY else [])


def test_without_files_nobody_knows_whether_anything_was_written() -> None:
    stores = upkeep.Stores()
    assert stores.state() != stores.state()


def test_work_is_looked_for_now_and_then_although_nobody_writes_and_at_once_after_a_failure(tmp_path: Path) -> None:
    database = open_store(tmp_path)
    stores = upkeep.Stores([database.file])
    looks: list[str] = []

    async def keep() -> None:
        def fails() -> None:
            looks.append("failed")
            raise RuntimeError("A bug.")

        pauses = {"every": 0.01, "after_failure": 0.01}
        repeated = upkeep.Upkeep(stores=stores)
        tasks = [
            asyncio.create_task(repeated.repeat(fails, what="fails", at_rest=3_600.0, **pauses)),
            asyncio.create_task(repeated.repeat(lambda: looks.append("rested"), what="rests", at_rest=0.2, **pauses)),
        ]
        await asyncio.sleep(0.5)
        looks.clear()
        async with asyncio.timeout(120):
            while min(looks.count("failed"), looks.count("rested")) < 3:
                await asyncio.sleep(0.01)
        for task in tasks:
            task.cancel()

    asyncio.run(keep())
    database.close()
