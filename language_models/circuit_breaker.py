"""A circuit breaker for embedding models: after a request that failed or was too slow, others fail at once for a while.

A request runs in a worker thread, so that its caller can time out. While such a request is still running, and for some
seconds after a failure, further requests to that model fail without being sent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import cache, partial
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from language_models.errors import BadCredentialsError, ModelError, ModelRateLimitedError, ModelUnavailableError
from language_models.ports import EmbeddingModel

P = ParamSpec("P")
T = TypeVar("T")
_THREADS = 4
_PAUSE = 5.0
_OUT_OF_ORDER = (ModelUnavailableError, ModelRateLimitedError, BadCredentialsError)

_late: WeakKeyDictionary[EmbeddingModel, Future[Any]] = WeakKeyDictionary()
_failed: WeakKeyDictionary[EmbeddingModel, tuple[float, ModelError]] = WeakKeyDictionary()


def begin(model: EmbeddingModel, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Run `work`, which asks the model, in the next free thread.

    While an earlier request to this model is late, the future fails at once with a TimeoutError.
    """
    late = _late.get(model)
    if late is None or late.done():
        return _pool().submit(partial(copy_context().run, work, *args, **kwargs))
    over: Future[T] = Future()
    over.set_exception(TimeoutError())
    return over


def finish(model: EmbeddingModel, begun: Future[T], *, within: float) -> T:
    """The result of the work; raises its errors. TimeoutError: it did not end within so many seconds."""
    try:
        return begun.result(timeout=within)
    except TimeoutError:
        _give_up(model, begun)
        raise


async def settled(model: EmbeddingModel, begun: Future[Any], *, within: float) -> None:
    """Wait on the loop until the work has ended, up to so many seconds. Never raises."""
    waiting = asyncio.wrap_future(begun)
    with suppress(Exception):
        async with asyncio.timeout(within):
            await waiting
    if waiting.cancelled():
        _give_up(model, begun)


def _give_up(model: EmbeddingModel, begun: Future[Any]) -> None:
    if not begun.cancel() and not begun.done():
        _late[model] = begun


def check(model: EmbeddingModel) -> None:
    """Raise the error of a request that failed a few seconds ago, if it said that the model is unavailable."""
    failed_at, error = _failed.get(model, (0.0, None))
    if error is not None and time.monotonic() - failed_at < _PAUSE:
        raise error


def note(model: EmbeddingModel, error: ModelError) -> None:
    """Open the circuit for a while if the error says that the model is unavailable."""
    if isinstance(error, _OUT_OF_ORDER):
        _failed[model] = (time.monotonic(), error)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="embedding")
