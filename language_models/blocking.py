"""Runs coroutines for worker threads, on one event loop of the process."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import inspect
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from language_models.errors import ModelUnavailableError
from sentences import say

Result = TypeVar("Result")
# Seconds for a cancelled coroutine to clean up before its caller goes on.
_GRACE = 5.0


def run(coroutine: Coroutine[Any, Any, Result], *, timeout: float | None) -> Result:
    """The coroutine's result; raises what it raises. Blocks the calling thread.

    After `timeout` seconds the coroutine is cancelled. Raises ModelUnavailableError for that and when `close` cancels
    it, RuntimeError in a thread with a running event loop, which can await instead.
    """
    if _has_running_loop():
        coroutine.close()
        raise RuntimeError("blocking.run was called on an event loop; await the coroutine there")
    future = _loops.submit(_within(coroutine, timeout))
    try:
        return future.result(None if timeout is None else timeout + _GRACE)
    except concurrent.futures.CancelledError:
        raise ModelUnavailableError(say("model_stopped")) from None
    except TimeoutError:
        if future.done():
            raise  # the coroutine's own
        raise _too_late(timeout or 0.0) from None
    finally:
        future.cancel()
        # A coroutine that never started would warn that it was not awaited.
        if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
            coroutine.close()


def close() -> None:
    """Cancel running coroutines and end the loop and its thread; the next `run` starts another loop."""
    _loops.close()


class _Loops:
    """The current loop, created by the first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def submit(self, coroutine: Coroutine[Any, Any, Result]) -> concurrent.futures.Future[Result]:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="blocking-model-calls", daemon=True
                )
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def close(self) -> None:
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            # Within the lock, so that nothing is submitted after the stop.
            if loop is not None:
                loop.call_soon_threadsafe(loop.stop)
        if thread is not None:
            thread.join(_GRACE)


_loops = _Loops()
# HTTP sessions that are open at exit would warn.
atexit.register(close)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    # The runner cancels tasks and ends asynchronous generators, which closes their HTTP sessions.
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()


async def _within(coroutine: Coroutine[Any, Any, Result], seconds: float | None) -> Result:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await coroutine
    except TimeoutError:
        if not limit.expired():
            raise
        raise _too_late(seconds or 0.0) from None


def _too_late(seconds: float) -> ModelUnavailableError:
    return ModelUnavailableError(f"The model did not answer within {seconds:g} seconds.")


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
