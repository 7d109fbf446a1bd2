"""Runs jobs (`database.jobs`): one step of each that is due, in turn, in one thread of the upkeep.

A kind of job is one object with the shape of `JobKind`, given to the runner.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from database.engine.database import Database
from database.engine.errors import StoreClosedError, StoreError
from database.jobs import RENEW_SECONDS, Job, Progress, add_job, claim_job, renew_job, store_failure, store_progress
from language_models.errors import ModelError
from truth_management_system.interface.structured_api import KnowledgeUnavailableError

log = logging.getLogger(__name__)
RETRY_SECONDS = 60.0
MOST_ATTEMPTS = 5
_STEPS_AT_ONCE = 20
_FAULT = "Something went wrong here. The server's log says what."


class JobKind(Protocol):
    """What the runner has to know of one kind of job."""

    @property
    def name(self) -> str:
        """The `kind` of such jobs."""

    @property
    def every(self) -> float | None:
        """Seconds from the end of one run to the next; None for jobs that somebody adds (`database.jobs.add_job`)."""

    def step(self, job: Job) -> Progress:
        """Do the next part, a second or so, beginning at `job.state`. It may be done again after a crash.

        What it raises is logged, and the step is tried again later: of an added job `MOST_ATTEMPTS` times.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurringWork:
    """A recurring `JobKind` of one step: a function that does all there is to do and may say how much it was."""

    name: str
    work: Callable[[], Any]
    every: float | None = 3600.0

    def step(self, _job: Job) -> Progress:
        """Do all of it."""
        done = self.work()
        return Progress(finished=True, done=done if isinstance(done, int) else 0)


class JobRunner:
    """Runs the jobs of `kinds` in one process, named `owner` in its leases. Call `run_due` from one thread."""

    def __init__(self, *, database: Database, kinds: Sequence[JobKind]) -> None:
        self.owner = uuid.uuid4().hex
        self._database = database
        self._kinds = {kind.name: kind for kind in kinds}
        self._longest_wait = max([RETRY_SECONDS, *(kind.every for kind in kinds if kind.every is not None)])
        self._added = False

    def run_due(self) -> int:
        """Do steps of jobs that are due, at most twenty; how many. Raises StoreError."""
        if not self._added:
            for kind in self._kinds.values():
                if kind.every is not None:
                    add_job(database=self._database, kind=kind.name, job_id=kind.name)
            self._added = True
        for number in range(_STEPS_AT_ONCE):
            job = claim_job(
                database=self._database, kinds=self._kinds, owner=self.owner, longest_wait=self._longest_wait
            )
            if job is None:
                return number
            self._run(job, self._kinds[job.kind])
        return _STEPS_AT_ONCE

    def _run(self, job: Job, kind: JobKind) -> None:
        try:
            with self._held(job):
                progress = kind.step(job)
        except StoreClosedError:  # another process, or the next start, goes on with it
            raise
        except (StoreError, KnowledgeUnavailableError, ModelError) as error:
            log.warning("the job %s has to wait: %s", job.kind, error.message)
            self._failed(job, kind, error.message)
        except Exception:
            log.exception("the job %s failed", job.kind)
            self._failed(job, kind, _FAULT)
        else:
            is_stored = store_progress(
                database=self._database, job=job, owner=self.owner, progress=progress, repeat_after=kind.every
            )
            if not is_stored:
                log.warning("the lease of the job %s could not be renewed, and its step may be done twice", job.kind)

    @contextmanager
    def _held(self, job: Job) -> Iterator[None]:
        """Renew the lease of the job, in another thread, while a step of it runs here."""
        over = threading.Event()

        def keep_renewing() -> None:
            while not over.wait(RENEW_SECONDS):
                with suppress(StoreError):  # it is tried again
                    renew_job(database=self._database, job=job, owner=self.owner)

        renewing = threading.Thread(target=keep_renewing, name=f"lease of {job.kind}", daemon=True)
        renewing.start()
        try:
            yield
        finally:
            over.set()
            renewing.join()

    def _failed(self, job: Job, kind: JobKind, error: str) -> None:
        gives_up = kind.every is None and job.attempts + 1 >= MOST_ATTEMPTS
        retry_after = None if gives_up else RETRY_SECONDS
        store_failure(database=self._database, job=job, owner=self.owner, error=error, retry_after=retry_after)
