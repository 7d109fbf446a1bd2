"""Duties: the parts of the upkeep that one server does for all servers of a store. Each is a lease.

Renewing them also tells the others that this process is alive, and whether it still writes for closed accounts.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection
from typing import Protocol

from database.duties import LEASE_SECONDS, RENEW_SECONDS, others_may_write, release_duties, take_duties
from database.engine.database import Database

__all__ = ["EVERY_DUTY", "RENEW_SECONDS", "Duties", "SharedDuties"]
_MARGIN = 1.0


class Duties(Protocol):
    """The duties of this process."""

    def begin(self) -> None:
        """Tell the others that this process is alive; from now on it may keep duties. Raises StoreError."""
        ...

    def holds(self, name: str) -> bool:
        """Whether this process has the duty now."""
        ...

    def keep(self, names: Collection[str]) -> None:
        """Renew this process's leases and take free ones. Call it every RENEW_SECONDS. Raises StoreError."""
        ...

    def release(self) -> None:
        """Give all duties up. Raises StoreError."""
        ...

    def others_may_write(self, user_email: str) -> bool:
        """Whether another process may still write for this closed account. Raises StoreError."""
        ...


class _All:
    """All duties, for a server that is the only one."""

    def begin(self) -> None:
        pass

    def holds(self, name: str) -> bool:
        del name
        return True

    def keep(self, names: Collection[str]) -> None:
        pass

    def release(self) -> None:
        pass

    def others_may_write(self, user_email: str) -> bool:
        del user_email
        return False


EVERY_DUTY: Duties = _All()


class SharedDuties:
    """The duties of one of several servers. Thread-safe.

    is_busy: whether a request or a tool call in this process may still write for this account.
    """

    def __init__(
        self,
        *,
        database: Database,
        is_busy: Callable[[str], bool] = lambda _user_email: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.owner = uuid.uuid4().hex
        self._database = database
        self._is_busy = is_busy
        self._clock = clock
        self._held: frozenset[str] = frozenset()
        self._until = 0.0
        self._is_released = False

    def begin(self) -> None:
        """Tell the others that this process is alive; from now on it may keep duties. Raises StoreError."""
        self._is_released = False
        self.keep(())

    def holds(self, name: str) -> bool:
        """Whether this process has the duty: it renewed the lease in time, by its own clock."""
        return name in self._held and self._clock() < self._until

    def keep(self, names: Collection[str]) -> None:
        """Renew this process's leases and take free ones. Call it every RENEW_SECONDS. Raises StoreError."""
        asked_at = self._clock()
        self._held = frozenset(self._taken(names))
        self._until = asked_at + LEASE_SECONDS - _MARGIN
        if self._is_released:  # meanwhile, by a process that ends
            self.release()

    def release(self) -> None:
        """Give all duties up. Raises StoreError."""
        self._is_released = True
        self._held = frozenset()
        release_duties(database=self._database, owner=self.owner)

    def others_may_write(self, user_email: str) -> bool:
        """Whether another process may still write for this closed account. Raises StoreError."""
        return others_may_write(database=self._database, owner=self.owner, user_email=user_email)

    def _taken(self, names: Collection[str]) -> set[str]:
        return take_duties(database=self._database, owner=self.owner, names=names, is_busy=self._is_busy)
