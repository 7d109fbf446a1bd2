"""Jobs go on step by step, whatever dies in between; one process does each, and its owner sees how far it is."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from chat.runtime import jobs as runners
from chat.runtime.jobs import JobRunner, RecurringWork
from database.accounts.users import create_user
from database.changes import changes_after
from database.connection import close_store, open_store
from database.engine.clock import iso_in
from database.engine.database import Database
from database.engine.errors import StorageBusyError, StoreClosedError
from database.jobs import Job, Progress, add_job, claim_job, jobs_of, purge_jobs, release_jobs, store_progress
from database.maintenance.account_erasure import close_account, erase_account
from database.schema import jobs
from tests.stores import put_empty_store

ANN, BEN = "ann@example.org", "ben@example.org"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    folder = put_empty_store(tmp_path / "users")
    yield open_store(folder)
    close_store(folder)


@dataclass
class Count:
    """A kind of job that the product doesn't know: it counts up to `state["to"]`, one a step."""

    name: str = "count"
    every: float | None = None
    counted: list[int] = field(default_factory=list)
    fails: list[Exception] = field(default_factory=list)

    def step(self, job: Job) -> Progress:
        if self.fails:
            raise self.fails.pop()
        number, goal = job.done + 1, job.state["to"]
        self.counted.append(number)
        return Progress(finished=number == goal, done=number, total=goal, state=job.state)


def run(database: Database, *kinds: Count | RecurringWork) -> int:
    return JobRunner(database=database, kinds=kinds).run_due()


def make_due(database: Database, **more: str | None) -> None:
    due = {"due_at": iso_in(seconds=-1), **more}
    database.write(lambda connection: connection.execute(update(jobs).values(due)).rowcount)


def seqs(found: Sequence[Job]) -> list[tuple[str, str, int, int | None]]:
    return [(job.kind, job.status, job.done, job.total) for job in found]


def test_a_kind_from_outside_is_done_step_by_step_and_its_owner_is_told(database: Database) -> None:
    kind = Count()
    job_id = add_job(database=database, kind="count", user_email=ANN, state={"to": 3})
    assert run(database, kind) == 3
    assert kind.counted == [1, 2, 3]
    assert seqs(jobs_of(database=database, user_email=ANN)) == [("count", "done", 3, 3)]
    assert jobs_of(database=database, user_email=BEN) == []
    told = changes_after(database=database, user_email=ANN, after=0, most=10)
    assert {(each.kind, each.id) for each in told} == {("job", job_id)}
    assert [(each.change, each.fields["status"], each.fields["done"]) for each in told] == [
        ("created", "waiting", 0),
        ("changed", "waiting", 1),
        ("changed", "waiting", 2),
        ("changed", "done", 3),
    ]
    assert run(database, kind) == 0


def test_jobs_take_turns(database: Database) -> None:
    kinds = Count("a"), Count("b")
    order: list[str] = []
    for kind in kinds:
        add_job(database=database, kind=kind.name, state={"to": 2})
        step = kind.step
        kind.step = lambda job, step=step: order.append(job.kind) or step(job)  # type: ignore[method-assign,func-returns-value,misc]
    run(database, *kinds)
    assert order == ["a", "b", "a", "b"]


def test_a_claimed_job_is_nobody_elses_until_its_lease_ends(database: Database) -> None:
    add_job(database=database, kind="count", state={"to": 1})
    job = claim_job(database=database, kinds=["count"], owner="killed")
    assert job is not None
    assert run(database, Count()) == 0
    make_due(database, lease_until=iso_in(seconds=-1))
    again = Count()
    assert run(database, again) == 1
    assert again.counted == [1]
    # What comes back late has lost the job and changes nothing.
    late = Progress(finished=False, done=99)
    assert not store_progress(database=database, job=job, owner="killed", progress=late)


def test_a_server_that_is_alone_goes_on_at_once(database: Database) -> None:
    add_job(database=database, kind="count", state={"to": 1})
    claim_job(database=database, kinds=["count"], owner="killed")
    release_jobs(database=database)
    assert run(database, Count()) == 1


def test_a_step_that_fails_is_tried_again_and_given_up_in_the_end(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kind = Count(fails=[RuntimeError("A bug."), StorageBusyError("The store is busy.")])
    add_job(database=database, kind="count", user_email=ANN, state={"to": 1})
    assert run(database, kind) == 1
    (job,) = jobs_of(database=database, user_email=ANN)
    assert (job.status, job.attempts, job.error) == ("waiting", 1, "The store is busy.")
    assert run(database, kind) == 0
    monkeypatch.setattr(runners, "RETRY_SECONDS", 0.0)
    make_due(database)
    assert run(database, kind) == 2
    (job,) = jobs_of(database=database, user_email=ANN)
    assert (job.status, job.attempts, job.error, job.done) == ("done", 0, "", 1)
    hopeless = Count(fails=[RuntimeError("A bug.") for _ in range(9)])
    add_job(database=database, kind="count", user_email=BEN, state={"to": 1})
    assert run(database, hopeless) == runners.MOST_ATTEMPTS
    (job,) = jobs_of(database=database, user_email=BEN)
    assert (job.status, job.due_at) == ("failed", None)
    assert "bug" not in job.error
    assert "the job count failed" in caplog.messages


def test_recurring_work_has_one_row_and_is_due_again_later(database: Database) -> None:
    done: list[int] = []

    def work() -> int:
        done.append(1)
        return 7

    for _ in range(2):
        run(database, RecurringWork(name="tidy", work=work))
    assert done == [1]
    make_due(database)
    run(database, RecurringWork(name="tidy", work=work))
    assert done == [1, 1]
    with database.reading() as connection:
        assert connection.execute(select(jobs.c.job_id, jobs.c.done)).all() == [("tidy", 7)]


def test_recurring_work_goes_on_after_the_clock_was_wrong(database: Database) -> None:
    done: list[int] = []
    work = RecurringWork(name="tidy", work=lambda: done.append(1))
    run(database, work)
    make_due(database, due_at=iso_in(days=3_650))
    assert run(database, work) == 1
    assert run(database, work) == 0
    assert done == [1, 1]


def test_recurring_work_that_fails_is_never_given_up(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "RETRY_SECONDS", 0.0)
    failures = [RuntimeError("A bug.") for _ in range(runners.MOST_ATTEMPTS + 1)]
    kind = Count("tidy", every=3600.0, fails=failures)
    kind.step = lambda job: Count.step(kind, job) if kind.fails else Progress(finished=True)  # type: ignore[method-assign]
    assert run(database, kind) == runners.MOST_ATTEMPTS + 2


def test_a_call_does_a_bounded_number_of_steps(database: Database) -> None:
    add_job(database=database, kind="count", state={"to": 1_000})
    assert run(database, Count()) == 20


def test_old_jobs_are_purged_and_those_of_an_erased_account_go_with_it(database: Database) -> None:
    for user_email in (ANN, BEN):
        create_user(database=database, user_email=user_email, password="correct horse battery")
        add_job(database=database, kind="count", user_email=user_email, state={"to": 1})
    close_account(database=database, user_email=BEN)
    erase_account(database=database, user_email=BEN)
    assert jobs_of(database=database, user_email=BEN) == []
    assert purge_jobs(database=database) == 0
    run(database, Count())
    old = {"updated_at": iso_in(days=-8)}
    database.write(lambda connection: connection.execute(update(jobs).values(old)).rowcount)
    assert purge_jobs(database=database) == 1
    assert changes_after(database=database, user_email=ANN, after=0, most=10)[-1].change == "gone"


def test_the_lease_of_a_step_is_renewed_as_long_as_it_runs(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "RENEW_SECONDS", 0.01)
    renewals, renew, enough = list[str](), runners.renew_job, threading.Event()

    def counted(**keywords: Any) -> None:
        renew(**keywords)
        renewals.append(keywords["owner"])
        if len(renewals) > 1:
            enough.set()

    def slow() -> None:
        make_due(database, lease_until=iso_in(seconds=-1))
        renewals.clear()
        enough.clear()
        assert enough.wait(60), "nobody renewed the lease"
        claimed.append(claim_job(database=database, kinds=["slow"], owner="another process"))

    claimed: list[Job | None] = []
    monkeypatch.setattr(runners, "renew_job", counted)
    assert run(database, RecurringWork(name="slow", work=slow)) == 1
    assert claimed == [None]
    after = len(renewals)
    assert run(database, RecurringWork(name="slow", work=slow)) == 0
    assert len(renewals) == after


def test_a_job_that_a_stop_of_the_server_ends_is_no_failure_and_goes_on_afterwards(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    kind = RecurringWork(name="sweep", work=lambda: stopped(database))
    with pytest.raises(StoreClosedError):
        run(database, kind)
    assert caplog.records == []


def stopped(database: Database) -> None:
    database.close()
    database.write(lambda _: None)
