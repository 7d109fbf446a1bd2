"""A circuit breaker for embedding models: after a request that took too long or failed, nobody else waits for a while.

A request runs in a thread of its own, so that whoever needs the answer can give up. While a request that somebody gave
up runs on, and for some seconds after one that failed, further requests to that model fail at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import cache
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
    """Begin with `work`, which asks the model, as soon as a thread is free.

    While an earlier request to this model is late, the future fails at once with a TimeoutError.
    """
    late = _late.get(model)
    if late is None or late.done():
        return _pool().submit(work, *args, **kwargs)
    over: Future[T] = Future()
    over.set_exception(TimeoutError())
    return over


def finish(model: EmbeddingModel, begun: Future[T], *, within: float) -> T:
    """What the work comes to; raises what it raises. TimeoutError: it is not done after so many seconds."""
    try:
        return begun.result(timeout=within)
    except TimeoutError:
        _give_up(model, begun)
        raise


async def settled(model: EmbeddingModel, begun: Future[Any], *, within: float) -> None:
    """Wait on the loop until the work is done or has failed, for so many seconds at most. Raises nothing."""
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
    """Raise the error of a request that failed a few seconds ago, where it told that the model is out of order."""
    failed_at, error = _failed.get(model, (0.0, None))
    if error is not None and time.monotonic() - failed_at < _PAUSE:
        raise error


def note(model: EmbeddingModel, error: ModelError) -> None:
    """Keep others from asking for a while, if the error tells that the model is out of order."""
    if isinstance(error, _OUT_OF_ORDER):
        _failed[model] = (time.monotonic(), error)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="embedding")
