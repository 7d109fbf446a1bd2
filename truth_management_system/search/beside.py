"""Asking an embedding model, which may take long or hang, beside whoever waits for the answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from language_models.ports import EmbeddingModel

P = ParamSpec("P")
T = TypeVar("T")
_THREADS = 4

_late: WeakKeyDictionary[EmbeddingModel, Future[Any]] = WeakKeyDictionary()


def begin(model: EmbeddingModel, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Begin with `work`, which asks the model, as soon as a thread is free.

    While somebody has waited for this model in vain and it is still at that, nobody is to wait for it again: then it is
    over at once, by a TimeoutError.
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
        if not begun.cancel() and not begun.done():
            _late[model] = begun
        raise


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="knowledge-search")
