"""Run a coroutine of a model from a worker thread: on one event loop that the process keeps for this."""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import inspect
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from language_models.errors import ModelUnavailableError

Result = TypeVar("Result")
# What is cancelled has this long to clean up, in seconds, before its caller goes on without it.
_GRACE = 5.0


def run(coroutine: Coroutine[Any, Any, Result], *, timeout: float) -> Result:
    """The coroutine's result; raises what it raises. Blocks the calling thread for `timeout` seconds at most.

    Then the coroutine is cancelled. Raises ModelUnavailableError for that and where `close` cut it short,
    RuntimeError in a thread whose own event loop is running: that one can await, and must not be held up.
    """
    if _has_running_loop():
        coroutine.close()
        raise RuntimeError("blocking.run was called on an event loop; await the coroutine there")
    future = _loops.submit(_within(coroutine, timeout))
    try:
        return future.result(timeout + _GRACE)
    except concurrent.futures.CancelledError:
        raise ModelUnavailableError("The model was stopped before it had answered.") from None
    except TimeoutError:
        if future.done():
            raise  # the coroutine's own
        raise _too_late(timeout) from None
    finally:
        future.cancel()
        # Cancelled before its first step, it would complain that nobody ever awaited it.
        if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
            coroutine.close()


def close() -> None:
    """Cancel what runs, and end the loop and its thread; the next `run` begins anew. Waits until all is cleaned up."""
    _loops.close()


class _Loops:
    """The loop of the moment, made when first needed."""

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
            # Inside the lock, so that nothing is submitted behind the stop.
            if loop is not None:
                loop.call_soon_threadsafe(loop.stop)
        if thread is not None:
            thread.join(_GRACE)


_loops = _Loops()
# Sessions that are still open when the interpreter goes would complain.
atexit.register(close)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    # The runner is what cancels tasks and ends generators, and with them the HTTP sessions that they keep.
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.get_loop().run_forever()


async def _within(coroutine: Coroutine[Any, Any, Result], seconds: float) -> Result:
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            return await coroutine
    except TimeoutError:
        if not limit.expired():
            raise
        raise _too_late(seconds) from None


def _too_late(seconds: float) -> ModelUnavailableError:
    return ModelUnavailableError(f"The model did not answer within {seconds:g} seconds.")


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
