"""Kinds of work, and a bounded pool of threads for each.

Each kind has its own threads and queue, so that no request waits for another kind of work. If a queue is full, the
response is an immediate 503.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

from chat.processes.shared_places import NoPlaceError, SharedPlaces
from chat.processes.threads import WorkerThreads
from endpoints.http.errors import InvalidRequestError, RateLimitedError, ServerBusyError
from endpoints.http.validation import query_parameters
from settings import Settings

T = TypeVar("T")
View = TypeVar("View", bound=Callable[..., Any])
_RETRY_SECONDS = 2.0
_PROVIDER_THREADS = 4
_TOO_MANY = "You have too many of these requests under way. Wait until one has ended."


class Work(StrEnum):
    """What a view spends its time on."""

    SHORT = "short"
    """Reads or changes a few rows."""
    SEARCH = "search"
    """Searches; waits for an embedding model for a bounded time."""
    MODEL = "model"
    """Waits for a model, for as long as the model takes."""
    MEMORIES = "memories"
    """Changes memories, and waits for the knowledge base's single writer, which a large import keeps busy."""
    LONG = "long"
    """Reads, copies or writes all data of a user."""
    MCP = "mcp"
    """Answers a program that speaks the Model Context Protocol."""
    PASSWORD = "password"
    """Hashes a password."""
    PROVIDER = "provider"
    """Waits for the OpenID provider, before anybody is logged in."""


WorkOf = Callable[[Mapping[str, str], bytes], Work]
"""The kind of work that a request with these query parameters and this body is. Called on the loop."""


def works(kind: Work | WorkOf) -> Callable[[View], View]:
    """Declare which kind of work a view does; the default is SHORT."""

    def decorate(view: View) -> View:
        view.work = kind  # type: ignore[attr-defined]
        return view

    return decorate


def work_of(view: Callable[..., Any] | None, query: bytes = b"", body: bytes = b"") -> Work:
    """The kind of work that `view` does for a request with this query and this body."""
    kind: Work | WorkOf = getattr(view, "work", Work.SHORT)
    if isinstance(kind, Work):
        return kind
    try:
        return kind(query_parameters(query), body)
    except InvalidRequestError:
        return Work.SHORT  # the view refuses it


class WorkPool:
    """The threads and the queue of one kind of work. Used on the server's loop only.

    places: how many jobs may run and wait at once. share: how many of them one client (a user, or an address before
    sign-in) may have; with `shared`, in all processes together.
    """

    def __init__(
        self,
        kind: Work,
        *,
        threads: int,
        waiting: int,
        share: int | None = None,
        shared: SharedPlaces | None = None,
    ) -> None:
        self.kind = kind
        self.places = threads + waiting
        self.share = share
        self._shared = shared
        self._count = threads
        self._threads = WorkerThreads(threads, name=f"view-{kind}")
        self._taken = 0
        self._taken_by: Counter[str] = Counter()

    async def run(self, work: Callable[[], T], *, client: str, gone: Callable[[], Awaitable[object]]) -> T:
        """Run `work` in the pool; its result.

        gone: completes when the client has disconnected; a job that has not begun by then is dropped. Raises
        ServerBusyError and RateLimitedError if no place is free, ConnectionResetError for a dropped job.
        """
        self._check(client)
        self._taken += 1
        self._taken_by[client] += 1
        try:
            if self._shared is None or self.share is None:
                return await self._result(self._threads.on_loop(work), gone)
            async with self._shared.place(self.kind, client, most=self.share):
                return await self._result(self._threads.on_loop(work), gone)
        except NoPlaceError:
            raise RateLimitedError(_TOO_MANY, retry_after=_RETRY_SECONDS) from None
        finally:
            self._taken -= 1
            self._taken_by[client] -= 1
            if not self._taken_by[client]:
                del self._taken_by[client]

    @property
    def running(self) -> int:
        """How many jobs threads work on."""
        return min(self._taken, self._count)

    @property
    def waiting(self) -> int:
        """How many jobs wait for a thread."""
        return max(0, self._taken - self._count)

    def shutdown(self) -> None:
        """Accept no more jobs and drop the waiting ones."""
        self._threads.shutdown(cancel_futures=True)

    def _check(self, client: str) -> None:
        if self.share is not None and self._taken_by[client] >= self.share:
            raise RateLimitedError(_TOO_MANY, retry_after=_RETRY_SECONDS)
        if self._taken >= self.places:
            raise ServerBusyError(retry_after=_RETRY_SECONDS)

    async def _result(self, result: asyncio.Future[T], gone: Callable[[], Awaitable[object]]) -> T:
        if self._taken <= self._count:
            return await result  # a thread is free, so the job does not wait
        leaving: asyncio.Future[Any] = asyncio.ensure_future(gone())
        try:
            await asyncio.wait({result, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not result.done() and self._threads.withdraw(result):
                raise ConnectionResetError
        finally:
            leaving.cancel()
        return await result


def pools(settings: Settings, *, shared: SharedPlaces | None = None) -> dict[Work, WorkPool]:
    """The pools of one process. shared: counts what its clients have under way in other processes."""
    models, searches, longs, programs, passwords = (
        settings.model_threads,
        settings.search_threads,
        settings.long_threads,
        settings.mcp_threads,
        settings.password_threads,
    )
    shared_pool = partial(WorkPool, shared=shared)
    return {
        Work.SHORT: WorkPool(Work.SHORT, threads=settings.threads, waiting=settings.waiting_requests),
        Work.SEARCH: shared_pool(Work.SEARCH, threads=searches, waiting=16 * searches, share=8 * searches),
        Work.MEMORIES: shared_pool(Work.MEMORIES, threads=searches, waiting=16 * searches, share=8 * searches),
        Work.MODEL: shared_pool(Work.MODEL, threads=models, waiting=2 * models, share=max(2, models // 2)),
        Work.LONG: shared_pool(Work.LONG, threads=longs, waiting=4 * longs, share=2 * longs),
        Work.MCP: shared_pool(Work.MCP, threads=programs, waiting=16 * programs, share=8 * programs),
        # A queued request waits for the hashes before it: half a second, with these numbers.
        Work.PASSWORD: shared_pool(Work.PASSWORD, threads=passwords, waiting=4 * passwords, share=3 * passwords),
        Work.PROVIDER: shared_pool(Work.PROVIDER, threads=_PROVIDER_THREADS, waiting=16, share=10),
    }
