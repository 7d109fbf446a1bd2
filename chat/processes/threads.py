"""Threads for blocking work beside the loop: one small pool for the steps of turns, and the pools that servers make."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import cache, partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_THREADS = 4


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """Work for a thread, and the future that is waiting for it.

    context: of who queued it. loop: the one that an asyncio future belongs to.
    """

    future: Future[Any] | asyncio.Future[Any]
    work: Callable[[], Any]
    context: Context
    loop: asyncio.AbstractEventLoop | None = None


class WorkerThreads(Executor):
    """At most `count` daemon threads and a queue from which a job can be withdrawn.

    Daemon threads, so that the process can end while one of them waits for a model that hangs. A job runs in the span,
    and for the request, of whoever queued it.
    """

    def __init__(self, count: int, *, name: str) -> None:
        self._count = count
        self._name = name
        self._jobs: deque[_Job] = deque()
        # One token a submitted job; the token of a withdrawn job wakes a thread for nothing.
        self._tokens: SimpleQueue[bool] = SimpleQueue()
        self._threads = 0
        # Threads without a job. A further thread is started only where jobs outnumber them: one that has just worked is
        # warm, and a server of one person needs no more.
        self._idle = 0
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue `fn(*args, **kwargs)`. Raises RuntimeError after `shutdown`."""
        future: Future[T] = Future()
        self._queue(_Job(future, partial(fn, *args, **kwargs), copy_context()))
        return future

    def on_loop(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """Queue `work`; a future of the running loop. Raises RuntimeError after `shutdown`.

        A job that has begun runs to its end even if the future is cancelled.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._queue(_Job(future, work, copy_context(), loop))
        return future

    def _queue(self, job: _Job) -> None:
        with self._lock:
            if self._closed:
                raise RuntimeError(f"the pool {self._name} is closed")
            if len(self._jobs) >= self._idle and self._threads < self._count:
                thread = threading.Thread(target=self._work, name=f"{self._name}_{self._threads + 1}", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has no more threads: those that are there go on
                    if not self._threads:
                        raise
                else:
                    self._threads += 1
                    self._idle += 1
            self._jobs.append(job)
        self._tokens.put(True)

    @property
    def is_working(self) -> bool:
        """Whether a job has begun that has not ended."""
        return self._idle < self._threads

    def withdraw(self, future: Future[Any] | asyncio.Future[Any]) -> bool:
        """Cancel a job and free its place in the queue; False where a thread has begun with it."""
        with self._lock:
            waiting = len(self._jobs)
            self._jobs = deque(job for job in self._jobs if job.future is not future)
            return len(self._jobs) < waiting and future.cancel()

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
            if job.loop is None:
                job.future.cancel()
            elif not job.loop.is_closed():
                job.loop.call_soon_threadsafe(job.future.cancel)
        for _ in range(threads):
            self._tokens.put(False)

    def _work(self) -> None:
        while self._tokens.get():
            with self._lock:
                job = self._jobs.popleft() if self._jobs else None
                self._idle -= job is not None
            if job is not None:
                _run(job)
                with self._lock:
                    self._idle += 1
            del job  # an idle thread must not keep a request in memory


def _run(job: _Job) -> None:
    result: Any = None
    error: BaseException | None = None
    if isinstance(job.future, Future):
        if not job.future.set_running_or_notify_cancel():
            return
    elif job.future.cancelled():
        return
    try:
        result = job.context.run(job.work)
    except (SystemExit, KeyboardInterrupt) as raised:  # on a loop it would end the server, with the turns of everybody
        error = RuntimeError(f"a job wanted to end the program: {raised!r}")
        error.__cause__ = raised
    except BaseException as raised:  # noqa: BLE001 - whoever waits for the job gets it
        error = raised
    if job.loop is None:
        _settle(job.future, result, error)
        return
    with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits any more
        job.loop.call_soon_threadsafe(_settle, job.future, result, error)


def _settle(future: Future[Any] | asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.cancelled():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


@cache
def _pool() -> WorkerThreads:
    return WorkerThreads(_THREADS, name="turn-work")


def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> asyncio.Future[T]:
    """Run `work` in the pool of the turns. A job that has begun runs to its end even if the future is cancelled."""
    return _pool().on_loop(partial(work, *args, **kwargs))


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
