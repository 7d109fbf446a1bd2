"""The duties of one server among several: which parts of the upkeep this process does for all of them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection
from typing import Protocol

from database.duties import LEASE_SECONDS, RENEW_SECONDS, release_duties, take_duties
from database.engine.database import Database

__all__ = ["EVERY_DUTY", "RENEW_SECONDS", "Duties", "SharedDuties"]
_MARGIN = 1.0


class Duties(Protocol):
    """Which duties this process has."""

    def holds(self, name: str) -> bool:
        """Whether this process does it now."""
        ...

    def keep(self, names: Collection[str]) -> None:
        """Renew what is held, and take what nobody does. Call it every RENEW_SECONDS. Raises StoreError."""
        ...

    def release(self) -> None:
        """Let others do it from now on. Raises StoreError."""
        ...


class _All:
    """The duties of a server that is the only one: all of them."""

    def holds(self, name: str) -> bool:
        del name
        return True

    def keep(self, names: Collection[str]) -> None:
        pass

    def release(self) -> None:
        pass


EVERY_DUTY: Duties = _All()


class SharedDuties:
    """The duties of one of several servers. Safe to use from any thread."""

    def __init__(self, *, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self.owner = uuid.uuid4().hex
        self._database = database
        self._clock = clock
        self._held: frozenset[str] = frozenset()
        self._until = 0.0

    def holds(self, name: str) -> bool:
        """Whether this process does it now: its lease was renewed in time, as far as the process itself can tell."""
        return name in self._held and self._clock() < self._until

    def keep(self, names: Collection[str]) -> None:
        """Renew what is held, and take what nobody does. Call it every RENEW_SECONDS. Raises StoreError."""
        asked_at = self._clock()
        self._held = frozenset(take_duties(database=self._database, owner=self.owner, names=names))
        self._until = asked_at + LEASE_SECONDS - _MARGIN

    def release(self) -> None:
        """Let others do it from now on. Raises StoreError."""
        self._held = frozenset()
        release_duties(database=self._database, owner=self.owner)
