"""Kinds of work, and a bounded pool of threads for each.

Each kind has its own threads and queue, so that no request waits for another kind of work. If a queue is full, the
response is an immediate 503. One client never holds all threads of a kind: its further requests wait in a lane of their
own, past which those of others go.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, TypeVar

import orjson

from chat.processes.shared_places import NoPlaceError, SharedPlaces
from chat.processes.threads import WorkerThreads
from chat.tools.registry import ToolRegistry
from endpoints.http.errors import InvalidRequestError, RateLimitedError, ServerBusyError
from endpoints.http.validation import query_parameters
from settings import Settings

T = TypeVar("T")
View = TypeVar("View", bound=Callable[..., Any])
_RETRY_SECONDS = 2.0
_PROVIDER_THREADS = 4
_TOOL_THREADS = 32
"""They do nothing but wait for the threads of the tools, or for other servers."""
_TOOLS_OF_CLIENT = 8
_LONGEST_READ_ON_LOOP = 64 * 1024
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
    DOCUMENTS = "documents"
    """Changes documents, and waits for the single writer of a vault, which commits to git."""
    FILES = "files"
    """Reads a file that was uploaded."""
    UPLOADS = "uploads"
    """Stores an uploaded file, and waits for the process that reads it; erases one."""
    LONG = "long"
    """Reads, copies or writes all data of a user."""
    MCP = "mcp"
    """Answers a program that speaks the Model Context Protocol."""
    TOOLS = "tools"
    """Waits for a tool of an installed package, or of another server, for as long as it may take."""
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


NameOfTool = Callable[[Mapping[str, Any], bytes], str | None]
"""The tool that a request with these arguments in its path and this body calls; None: none. Called on the loop."""


def calls_tool(name_of: NameOfTool) -> Callable[[View], View]:
    """Declare that a view calls a tool, and which."""

    def decorate(view: View) -> View:
        view.name_of_tool = name_of  # type: ignore[attr-defined]
        return view

    return decorate


def work_of(view: Callable[..., Any] | None, query: bytes = b"", body: bytes = b"") -> Work:
    """The kind of work that `view` does for a request with this query and this body."""
    kind: Work | WorkOf = getattr(view, "work", Work.SHORT)
    if isinstance(kind, Work):
        return kind
    try:
        # A view that does not look at the query refuses nothing of it.
        return kind(query_parameters(query) if hasattr(view, "query_model") else {}, body)
    except InvalidRequestError:
        return Work.SHORT  # the view refuses it


def work_of_call(
    view: Callable[..., Any] | None, query: bytes, body: bytes, *, arguments: Mapping[str, Any], tools: ToolRegistry
) -> Work:
    """`work_of`, but for calls of tools that may hang: they never hold the threads of other requests.

    arguments: in the path. tools: those of everybody.
    """
    kind, name_of = work_of(view, query, body), getattr(view, "name_of_tool", None)
    name: str | None = None if name_of is None or kind is Work.MODEL else name_of(arguments, body)
    if name is None:
        return kind
    tool = tools.find(name)
    # One that is not everybody's is of a server that a person has joined, or there is none.
    return Work.TOOLS if tool is None or tool.is_installed or tool.is_remote else kind


def read_on_loop(body: bytes) -> Any:
    """What a JSON body says; None for a malformed one, and for one that is too long to be read on the loop."""
    try:
        return orjson.loads(body) if len(body) <= _LONGEST_READ_ON_LOOP else None
    except orjson.JSONDecodeError:
        return None


@dataclass(slots=True)
class _Lane:
    """The jobs of one client. taken: those that run or wait. begun: those that were given to the threads.

    waiting: the turns of the others, in order.
    """

    taken: int = 0
    begun: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def pass_on(self) -> None:
        """Give the turn of a job that has ended to the next one."""
        while self.waiting:
            turn = self.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.begun -= 1

    async def turn(self, gone: Callable[[], Awaitable[object]]) -> None:
        """Wait for the turn of a job. Raises ConnectionResetError where its client has disconnected before."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append(turn)
        try:
            await _either(turn, gone)
        except asyncio.CancelledError:
            if not self._leave(turn):
                self.pass_on()
            raise
        if self._leave(turn):
            raise ConnectionResetError
        turn.result()  # it is cancelled where the pool was closed

    def _leave(self, turn: asyncio.Future[None]) -> bool:
        """Give up a turn that has not come; whether that is so."""
        if turn.done():
            return False
        self.waiting.remove(turn)
        return turn.cancel()


class WorkPool:
    """The threads and the queue of one kind of work. Used on the server's loop only.

    places: how many jobs may run and wait at once. share: how many of them one client (a user, or an address before
    login) may have; with `shared`, in all processes together. at_once: for how many of its jobs one client may have a
    thread; None: for as many as leave one thread to others.
    """

    def __init__(
        self,
        kind: Work,
        *,
        threads: int,
        waiting: int,
        share: int | None = None,
        at_once: int | None = None,
        shared: SharedPlaces | None = None,
    ) -> None:
        self.kind = kind
        self.places = threads + waiting
        self.share = share
        self._shared = shared
        self._count = threads
        self._at_once = at_once or max(1, threads - 1)
        self._threads = WorkerThreads(threads, name=f"view-{kind}")
        self._taken = 0
        self._begun = 0
        self._lanes: dict[str, _Lane] = {}

    async def run(self, work: Callable[[], T], *, client: str, gone: Callable[[], Awaitable[object]]) -> T:
        """Run `work` in the pool; its result.

        gone: completes when the client has disconnected; a job that has not begun by then is dropped. Raises
        ServerBusyError and RateLimitedError if no place is free, ConnectionResetError for a dropped job.
        """
        lane = self._lanes.get(client) or _Lane()
        self._check(lane)
        self._lanes[client] = lane
        self._taken += 1
        lane.taken += 1
        try:
            if self._shared is None or self.share is None:
                return await self._run(work, lane, gone)
            async with self._shared.place(self.kind, client, most=self.share):
                return await self._run(work, lane, gone)
        except NoPlaceError:
            raise RateLimitedError(_TOO_MANY, retry_after=_RETRY_SECONDS) from None
        finally:
            self._taken -= 1
            lane.taken -= 1
            if not lane.taken:
                del self._lanes[client]

    @property
    def running(self) -> int:
        """How many jobs threads work on."""
        return min(self._begun, self._count)

    @property
    def waiting(self) -> int:
        """How many jobs wait for a thread."""
        return self._taken - self.running

    def shutdown(self) -> None:
        """Accept no more jobs and drop the waiting ones."""
        self._threads.shutdown(cancel_futures=True)
        for lane in self._lanes.values():
            for turn in lane.waiting:
                turn.cancel()

    def _check(self, lane: _Lane) -> None:
        if self.share is not None and lane.taken >= self.share:
            raise RateLimitedError(_TOO_MANY, retry_after=_RETRY_SECONDS)
        if self._taken >= self.places:
            raise ServerBusyError(retry_after=_RETRY_SECONDS)

    async def _run(self, work: Callable[[], T], lane: _Lane, gone: Callable[[], Awaitable[object]]) -> T:
        if lane.begun < self._at_once:
            lane.begun += 1
        else:
            await lane.turn(gone)
        self._begun += 1
        try:
            return await self._result(self._threads.on_loop(work), gone)
        finally:
            self._begun -= 1
            lane.pass_on()

    async def _result(self, result: asyncio.Future[T], gone: Callable[[], Awaitable[object]]) -> T:
        if self._begun > self._count:  # otherwise a thread is free, and the job does not wait
            await _either(result, gone)
            if not result.done() and self._threads.withdraw(result):
                raise ConnectionResetError
        return await result


async def _either(awaited: asyncio.Future[Any], gone: Callable[[], Awaitable[object]]) -> None:
    """Wait for the future, but not longer than the client is there."""
    leaving: asyncio.Future[Any] = asyncio.ensure_future(gone())
    try:
        await asyncio.wait({awaited, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()


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
    # A vault has one writer, so further changes of the same person's would only wait for it.
    documents = shared_pool(Work.DOCUMENTS, threads=searches, waiting=16 * searches, share=8 * searches, at_once=1)
    return {
        Work.SHORT: WorkPool(Work.SHORT, threads=settings.threads, waiting=settings.waiting_requests),
        Work.SEARCH: shared_pool(Work.SEARCH, threads=searches, waiting=16 * searches, share=8 * searches),
        Work.MEMORIES: shared_pool(Work.MEMORIES, threads=searches, waiting=16 * searches, share=8 * searches),
        Work.DOCUMENTS: documents,
        Work.FILES: shared_pool(Work.FILES, threads=searches, waiting=16 * searches, share=8 * searches),
        Work.UPLOADS: shared_pool(Work.UPLOADS, threads=longs, waiting=4 * longs, share=2 * longs),
        Work.MODEL: shared_pool(Work.MODEL, threads=models, waiting=2 * models, share=max(2, models // 2)),
        Work.LONG: shared_pool(Work.LONG, threads=longs, waiting=4 * longs, share=2 * longs),
        Work.MCP: shared_pool(Work.MCP, threads=programs, waiting=16 * programs, share=8 * programs),
        Work.TOOLS: shared_pool(
            Work.TOOLS,
            threads=_TOOL_THREADS,
            waiting=2 * _TOOL_THREADS,
            share=2 * _TOOLS_OF_CLIENT,
            at_once=_TOOLS_OF_CLIENT,
        ),
        # A queued request waits for the hashes before it: half a second, with these numbers.
        Work.PASSWORD: shared_pool(Work.PASSWORD, threads=passwords, waiting=4 * passwords, share=3 * passwords),
        Work.PROVIDER: shared_pool(Work.PROVIDER, threads=_PROVIDER_THREADS, waiting=16, share=10),
    }
