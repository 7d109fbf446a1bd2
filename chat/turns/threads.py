"""Threads for blocking work beside the loop: one small pool for the steps of turns, and the pools that servers make."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import cache, partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_THREADS = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    future: Future[Any]
    work: Callable[[], Any]


class WorkerThreads(Executor):
    """At most `count` daemon threads and a queue from which a job can be withdrawn.

    Daemon threads, so that the process can end while one of them waits for a model that hangs.
    """

    def __init__(self, count: int, *, name: str) -> None:
        self._count = count
        self._name = name
        self._jobs: deque[_Job] = deque()
        # One token a submitted job; the token of a withdrawn job wakes a thread for nothing.
        self._tokens: SimpleQueue[bool] = SimpleQueue()
        self._threads = 0
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue `fn(*args, **kwargs)`. Raises RuntimeError after `shutdown`."""
        future: Future[T] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError(f"the pool {self._name} is closed")
            self._jobs.append(_Job(future, partial(fn, *args, **kwargs)))
            if self._threads < self._count:
                self._threads += 1
                threading.Thread(target=self._work, name=f"{self._name}_{self._threads}", daemon=True).start()
        self._tokens.put(True)
        return future

    def withdraw(self, future: Future[Any]) -> bool:
        """Cancel a job and free its place in the queue; False where a thread has begun with it."""
        if not future.cancel():
            return False
        with self._lock:
            self._jobs = deque(job for job in self._jobs if job.future is not future)
        return True

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs; what runs is never waited for. `cancel_futures`: drop what is queued."""
        del wait
        with self._lock:
            if self._closed:
                return
            self._closed = True
            dropped = list(self._jobs) if cancel_futures else []
            threads = self._threads
        for job in dropped:
            job.future.cancel()
        for _ in range(threads):
            self._tokens.put(False)

    def _work(self) -> None:
        while self._tokens.get():
            with self._lock:
                job = self._jobs.popleft() if self._jobs else None
            if job is not None and job.future.set_running_or_notify_cancel():
                _run(job)
            del job  # an idle thread must not keep a request in memory


def _run(job: _Job) -> None:
    try:
        result = job.work()
    except BaseException as error:  # noqa: BLE001 - whoever waits for the job gets it
        job.future.set_exception(error)
    else:
        job.future.set_result(result)


@cache
def _pool() -> WorkerThreads:
    return WorkerThreads(_THREADS, name="turn-work")


def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    """Run `work` in the pool of the turns. A job that has begun runs to its end even if the future is cancelled."""
    return asyncio.wrap_future(_pool().submit(work, *args, **kwargs))


async def to_its_end(
    work: asyncio.Future[T], *, patience: float
) -> tuple[asyncio.Future[T], asyncio.CancelledError | None]:
    """Wait for `work` even if this task is cancelled, but from then on for `patience` seconds at most.

    Returns:
        The work, done, or cancelled if it took longer; and the first cancellation, if there was one.
    """
    stop, left = None, None
    while not work.done():
        try:
            done, _ = await asyncio.wait({work}, timeout=left)
            if not done:
                work.cancel()
        except asyncio.CancelledError as error:
            stop, left = stop or error, patience
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
    return work, stop


async def undisturbed(work: Awaitable[T]) -> T:
    """Wait for `work` to its end, however often this task is cancelled meanwhile; the cancellations are forgotten."""
    running = asyncio.ensure_future(work)
    while True:
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if running.cancelled() or task is None:
                raise
            task.uncancel()
