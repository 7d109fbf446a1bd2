"""The cache of opened conversations: small, and never stale."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class DefaultDictQueue(Generic[K, V]):
    """A thread-safe LRU cache of `maxsize` values, loaded by `factory` on first access.

    `is_current(key, value)` is called at each access, and may bring the value up to date; a stale one is loaded again.
    Each key has its own lock while its value loads: a slow load blocks no other key, and concurrent readers of one key
    load it once.
    """

    def __init__(
        self, *, maxsize: int, factory: Callable[[K], V], is_current: Callable[[K, V], bool] = lambda _key, _value: True
    ) -> None:
        if maxsize < 1:
            raise ValueError("maxsize must be at least 1")
        self.maxsize = maxsize
        self.loads = 0
        self._factory = factory
        self._is_current = is_current
        self._values: OrderedDict[K, V] = OrderedDict()
        self._loading: dict[K, threading.Lock] = {}
        self._lock = threading.Lock()

    def __getitem__(self, key: K) -> V:
        """The value of `key`. Raises what the factory raises; a failed load caches nothing."""
        known = self._known(key)
        if known is not None and self._is_current(key, known):
            return known
        with self._lock:
            loading = self._loading.setdefault(key, threading.Lock())
        try:
            with loading:
                loaded = self._known(key)  # by another thread, while this one waited
                if loaded is not None and loaded is not known and self._is_current(key, loaded):
                    return loaded
                return self._load(key)
        finally:
            with self._lock:
                if not loading.locked():
                    self._loading.pop(key, None)

    def get(self, key: K) -> V | None:
        """The value of `key` as it is cached, not brought up to date; None for one that is not."""
        return self._known(key)

    def keep(self, key: K, value: V) -> V:
        """`value` of `key`, loaded by the caller; one that another thread has loaded meanwhile takes its place."""
        with self._lock:
            return self._kept(key, self._values.get(key, value))

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return key in self._values

    def __len__(self) -> int:
        with self._lock:
            return len(self._values)

    def pop(self, key: K) -> None:
        """Evict `key`, if it is cached."""
        with self._lock:
            self._values.pop(key, None)

    def pop_where(self, condition: Callable[[K], bool]) -> None:
        """Evict all keys for which `condition` is true."""
        with self._lock:
            for key in [key for key in self._values if condition(key)]:
                del self._values[key]

    def _known(self, key: K) -> V | None:
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def _load(self, key: K) -> V:
        value = self._factory(key)
        with self._lock:
            return self._kept(key, value)

    def _kept(self, key: K, value: V) -> V:
        self.loads += 1
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self.maxsize:
            self._values.popitem(last=False)
        return value
