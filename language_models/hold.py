"""A gate that one thread or loop opens for coroutines of any loop."""

from __future__ import annotations

import asyncio
import threading


class Hold:
    """Coroutines wait at it until somebody, on any thread, lets them go."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._released = False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._reached = threading.Event()

    async def wait(self) -> None:
        """Return once released, at once if that has happened."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        with self._lock:
            self._reached.set()
            if self._released:
                return
            self._waiting.append((loop, future))
        await future

    def release(self) -> None:
        """Let everybody go, now and later."""
        with self._lock:
            self._released = True
            waiting, self._waiting = self._waiting, []
        for loop, future in waiting:
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, future)

    def wait_until_reached(self, timeout: float = 10.0) -> bool:
        """Block the calling thread until a coroutine waits, at most `timeout` seconds; whether one does."""
        return self._reached.wait(timeout)


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
