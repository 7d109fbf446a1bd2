"""Clients of providers, one for each event loop: the server has one loop, scripts and tests start and end theirs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """What is opened once on each event loop that asks for it, and closed there."""

    def __init__(self, opened: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        """`opened` gives it open without waiting for anything: two tasks of a loop must not open two."""
        self._opened = opened
        self._lock = threading.Lock()
        self._open: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[T, None]]] = {}

    async def current(self) -> T:
        """The running loop's."""
        loop = asyncio.get_running_loop()
        if (found := self._open.get(loop)) is not None:
            return found[0]
        generator = self._held(loop)
        value = await anext(generator)
        with self._lock:
            self._open[loop] = (value, generator)
        return value

    async def aclose(self) -> None:
        """Close every one, each on its own loop."""
        here = asyncio.get_running_loop()
        with self._lock:
            generators = [(loop, generator) for loop, (_, generator) in self._open.items()]
            self._open.clear()
        for loop, generator in generators:
            if loop is here:
                await generator.aclose()
            elif not loop.is_closed():
                asyncio.run_coroutine_threadsafe(_closed(generator), loop)

    async def _held(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[T, None]:
        """Yield it open, and close it when the generator ends.

        A loop ends its asynchronous generators when it shuts down, so nothing outlives its loop.
        """
        async with self._opened() as value:
            try:
                yield value
            finally:
                with self._lock:
                    self._open.pop(loop, None)


async def _closed(generator: AsyncGenerator[T, None]) -> None:
    await generator.aclose()
