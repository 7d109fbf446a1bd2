"""Blocking work beside the loop: one small pool for all turns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_THREADS = 4


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix="turn-work")


async def in_thread(work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `work` in the pool. It is carried out to its end even if the coroutine is cancelled."""
    return await asyncio.get_running_loop().run_in_executor(_pool(), partial(work, *args, **kwargs))
