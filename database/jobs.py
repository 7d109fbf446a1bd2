"""Jobs: work in steps that can be repeated, each with its progress and a lease.

A process claims a job that is due, does one step, and stores how far it came, which also gives the job back. When a
process dies within a step, its lease ends and the step is done again by whoever claims the job next. A recurring job
has one row, named like its kind, and becomes due again some time after it was finished. `chat.runtime.jobs` runs them.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from sqlalchemy import Connection, case, delete, func, insert, or_, select, update

from database.changes import JOB, ChangeType, record
from database.engine.clock import iso_in, now_iso, store_time
from database.engine.database import Database, Urgency
from database.engine.errors import JobNotFoundError
from database.schema import is_closed, jobs

LEASE_SECONDS = 10.0
RENEW_SECONDS = 3.0
"""A step whose process dies is done by another one when its lease, which is renewed while it runs, has ended."""
_DAY_SECONDS = 86_400.0
KEPT_DAYS = 7
"""How long finished and failed jobs are kept."""

JobStatus = Literal["waiting", "done", "failed"]
WaitsFor = Literal["turn", "retry", "time"]
"""What a job waits for: it is due, and a process takes it in its turn; it failed, and is tried again; its time."""
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_c = jobs.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job.

    state: where its next step begins, as its kind has stored it. done, total: its progress, in the unit of its kind;
    total is None where it is unknown. attempts: how often the next step has failed. error: the last failure, one
    sentence for a person, "" without one. Times are ISO 8601 in UTC; due_at is None when nothing is left to do.
    """

    job_id: str
    kind: str
    user_email: str | None
    status: JobStatus
    state: dict[str, Any]
    done: int
    total: int | None
    attempts: int
    error: str
    due_at: str | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What a step of a job came to. finished: no step is left."""

    finished: bool
    done: int = 0
    total: int | None = None
    state: Mapping[str, Any] = field(default_factory=dict)


_FIELDS = tuple(_c[name] for name in Job.__dataclass_fields__)


def add_job(
    *,
    database: Database,
    kind: str,
    user_email: str | None = None,
    job_id: str | None = None,
    state: Mapping[str, Any] = _NOTHING,
) -> str:
    """Add a job that is due now; its id. With `job_id`, a job that has this id already stays as it is."""
    job_id, moment = job_id or str(uuid.uuid4()), now_iso()
    values: dict[str, Any] = {"job_id": job_id, "kind": kind, "user_email": user_email, "state": dict(state)}
    values |= {"status": "waiting", "done": 0, "attempts": 0, "error": ""}
    values |= {"due_at": store_time(), "created_at": moment, "updated_at": moment}

    def add(connection: Connection) -> None:
        if connection.execute(select(_c.job_id).where(_c.job_id == job_id)).first() is None:
            connection.execute(insert(jobs).values(values))
            _tell(connection, "created", job_id)

    database.write(add)
    return job_id


def claim_job(
    *, database: Database, kinds: Collection[str], owner: str, longest_wait: float = _DAY_SECONDS
) -> Job | None:
    """The job of these kinds that has been due for longest, leased to `owner`; None where none is due and free.

    longest_wait: a job that would wait for more seconds was given back while the clock was wrong, and is due, too.
    Jobs of accounts that were closed are left alone.
    """
    free = or_(_c.lease_until.is_(None), _c.lease_until < store_time())
    is_due = or_(_c.due_at <= store_time(), _c.due_at > store_time(seconds=longest_wait))
    due = (
        select(*_FIELDS)
        .where(_c.due_at.is_not(None), is_due, free, _c.kind.in_(kinds), ~is_closed(_c.user_email))
        .order_by(_c.due_at, _c.updated_at)
        .limit(1)
    )
    with database.reading() as connection:
        if connection.execute(due).first() is None:
            return None

    def claim(connection: Connection) -> Job | None:
        row = connection.execute(due).first()
        if row is None:
            return None
        leased = {"owner": owner, "lease_until": store_time(seconds=LEASE_SECONDS)}
        connection.execute(update(jobs).where(_c.job_id == row.job_id).values(leased))
        return Job(**row._mapping)

    return database.write(claim, urgency=Urgency.INDEX)


def renew_job(*, database: Database, job: Job, owner: str) -> None:
    """Let the step of `owner` be taken as alive for `LEASE_SECONDS` from now on."""
    mine = (_c.job_id == job.job_id) & (_c.owner == owner)
    renewal = update(jobs).where(mine).values(lease_until=store_time(seconds=LEASE_SECONDS))
    database.write(lambda connection: connection.execute(renewal).rowcount, urgency=Urgency.STREAM)


def store_progress(
    *, database: Database, job: Job, owner: str, progress: Progress, repeat_after: float | None = None
) -> bool:
    """Store what a step came to, and give the job back; False where `owner` has lost it meanwhile.

    repeat_after: seconds after which a finished job is due again; None: never.
    """
    due = 0.0 if not progress.finished else repeat_after
    values = {
        "status": "done" if progress.finished else "waiting",
        "state": dict(progress.state),
        "done": progress.done,
        "total": progress.total,
        "attempts": 0,
        "error": "",
        "due_at": None if due is None else store_time(seconds=due),
    }
    return _give_back(database, job, owner, values)


def store_failure(*, database: Database, job: Job, owner: str, error: str, retry_after: float | None) -> bool:
    """Store that a step failed, and give the job back; retry_after: seconds until it is tried again, None: never."""
    values = {
        "status": "failed" if retry_after is None else "waiting",
        "attempts": job.attempts + 1,
        "error": error,
        "due_at": None if retry_after is None else store_time(seconds=retry_after),
    }
    return _give_back(database, job, owner, values)


def release_jobs(*, database: Database) -> None:
    """End all leases, for a server that starts and knows that no other process works on the store."""
    held = update(jobs).where(_c.owner.is_not(None)).values(owner=None, lease_until=None)
    database.write(lambda connection: connection.execute(held).rowcount)


def jobs_of(*, database: Database, user_email: str) -> list[Job]:
    """The person's jobs, the newest first."""
    query = select(*_FIELDS).where(_c.user_email == user_email).order_by(_c.created_at.desc(), _c.job_id)
    with database.reading() as connection:
        return [Job(**row._mapping) for row in connection.execute(query)]


def all_jobs(*, database: Database, limit: int = 500) -> list[tuple[Job, bool, WaitsFor | None]]:
    """All jobs, with whether a process works on them now, and what they wait for; the failed ones first."""
    is_running = func.coalesce(_c.lease_until >= store_time(), False).label("is_running")
    waits_for = case(
        (or_(is_running, _c.due_at.is_(None)), None),
        (_c.due_at <= store_time(), "turn"),
        (_c.error != "", "retry"),
        else_="time",
    )
    is_failed = case((_c.status == "failed", 0), (_c.error != "", 1), else_=2)
    query = select(*_FIELDS, is_running, waits_for.label("waits_for"))
    with database.reading() as connection:
        rows = connection.execute(query.order_by(is_failed, _c.updated_at.desc(), _c.job_id).limit(limit))
        return [
            (Job(**dict(zip(Job.__dataclass_fields__, row, strict=False))), bool(row.is_running), row.waits_for)
            for row in rows
        ]


def count_by_status(*, database: Database) -> dict[str, int]:
    """How many jobs of all people and of the server itself are in each status."""
    counted = select(_c.status, func.count()).group_by(_c.status).order_by(_c.status)
    with database.reading() as connection:
        return {status: int(count) for status, count in connection.execute(counted)}


def retry_job(*, database: Database, job_id: str, note: Callable[[Connection, str, str], object]) -> None:
    """Let a failed job begin again where it was. note: called within the transaction with its kind and its owner.

    Raises JobNotFoundError where no such job has failed.
    """
    failed = (_c.job_id == job_id) & (_c.status == "failed")
    again = {"status": "waiting", "attempts": 0, "error": "", "due_at": store_time(), "updated_at": now_iso()}

    def retry(connection: Connection) -> None:
        job = connection.execute(select(_c.kind, _c.user_email).where(failed)).first()
        if job is None or connection.execute(update(jobs).where(failed).values(again)).rowcount == 0:
            raise JobNotFoundError
        _tell(connection, "changed", job_id)
        note(connection, job.kind, job.user_email or "")

    database.write(retry)


def purge_jobs(*, database: Database, older_than_days: float = KEPT_DAYS) -> int:
    """Delete the jobs that ended `older_than_days` ago or earlier; how many."""
    ended = (_c.due_at.is_(None)) & (_c.updated_at < iso_in(days=-older_than_days))

    def purge(connection: Connection) -> int:
        ids = connection.execute(select(_c.job_id).where(ended)).scalars().all()
        for job_id in ids:
            _tell(connection, "gone", job_id)
        connection.execute(delete(jobs).where(_c.job_id.in_(ids)))
        return len(ids)

    return database.write(purge, urgency=Urgency.INDEX)


def _give_back(database: Database, job: Job, owner: str, values: dict[str, Any]) -> bool:
    mine = (_c.job_id == job.job_id) & (_c.owner == owner)
    given_back = {**values, "owner": None, "lease_until": None, "updated_at": now_iso()}

    def give_back(connection: Connection) -> bool:
        if connection.execute(update(jobs).where(mine).values(given_back)).rowcount == 0:
            return False
        if job.user_email is not None:
            _tell(connection, "changed", job.job_id)
        return True

    return database.write(give_back, urgency=Urgency.INDEX)


def _tell(connection: Connection, change: ChangeType, job_id: str) -> None:
    query = select(_c.user_email, _c.kind, _c.status, _c.done, _c.total).where(_c.job_id == job_id)
    user_email, *values = connection.execute(query).one()
    if user_email is not None:
        fields = {} if change == "gone" else dict(zip(("kind", "status", "done", "total"), values, strict=True))
        record(connection, JOB, change, user_email=user_email, ids=[job_id], fields=fields)
