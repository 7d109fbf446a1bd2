"""Work that is carried out to its end: blocking work beside the loop, in one small pool for all turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_THREADS = 4


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="turn-work")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in the pool. It is carried out to its end even if the coroutine is cancelled."""
    return await asyncio.get_running_loop().run_in_executor(_pool(), partial(work, *args, **kwargs))


async def to_its_end(
    work: Coroutine[Any, Any, T], *, patience: float
) -> tuple[asyncio.Task[T], asyncio.CancelledError | None]:
    """Wait for `work` though this task is cancelled, but from then on for `patience` seconds at most.

    Returns:
        The work, done, or cancelled where it took longer; and the first cancellation, if there was one.
    """
    running, stop, left = asyncio.create_task(work), None, None
    while not running.done():
        try:
            done, _ = await asyncio.wait({running}, timeout=left)
            if not done:
                running.cancel()
        except asyncio.CancelledError as error:
            stop, left = stop or error, patience
            task = asyncio.current_task()
            if task is not None:
                task.uncancel()
    return running, stop


async def undisturbed(work: Coroutine[Any, Any, T]) -> T:
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
