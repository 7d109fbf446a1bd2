"""Duties: the parts of the upkeep that one server does for all servers of a store. Each is a lease.

Renewing them also tells the others that this process is alive, and whether it still writes for closed accounts. And it
shows whether the store takes writes: while it takes none, no process can renew its leases, and those that end say
nothing about their owners.
"""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Callable, Collection

from database.duties import LEASE_SECONDS, RENEW_SECONDS, others_may_write, release_duties, take_duties
from database.engine.database import Database
from database.engine.errors import StoreError
from database.turns import leases

__all__ = ["EVERY_DUTY", "RENEW_SECONDS", "Duties", "SharedDuties"]
_MARGIN = 1.0
_LATE = 0.5
"""So much later than planned a living process may renew its leases."""
SLOW_SECONDS = 2.0
"""A renewal that takes so long had to wait for a store that took no writes."""
TRUSTED_SECONDS = leases.LEASE_SECONDS - leases.RENEW_SECONDS - _LATE
"""So long after a renewal no lease of a living process can have ended, whatever became of the store meanwhile."""
SETTLE_SECONDS = RENEW_SECONDS + _LATE
"""So long after the store takes writes again every living process has renewed its leases."""


class Duties:
    """The duties of this process: all of them, as the only server has them."""

    def begin(self) -> None:
        """Tell the others that this process is alive; from now on it may keep duties. Raises StoreError."""

    def holds(self, name: str) -> bool:
        """Whether this process has the duty now."""
        del name
        return True

    def keep(self, names: Collection[str]) -> None:
        """Renew this process's leases and take free ones. Call it every RENEW_SECONDS. Raises StoreError."""

    def release(self) -> None:
        """Give all duties up. Raises StoreError."""

    def others_may_write(self, user_email: str) -> bool:
        """Whether another process may still write for this closed account. Raises StoreError."""
        del user_email
        return False

    def may_take_over(self) -> bool:
        """Whether a lease that has ended shows that its owner is gone: the store took writes all the time."""
        return True


EVERY_DUTY = Duties()


class SharedDuties(Duties):
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
        # When this process renewed its leases last, and from when on it takes ended ones for those of gone processes.
        self._renewed_at, self._trusts_from = -math.inf, math.inf
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
        try:
            self._held = frozenset(self._taken(names))
        except StoreError:
            self._renewed_at = -math.inf
            raise
        self._until = asked_at + LEASE_SECONDS - _MARGIN
        self._renewed(asked_at, self._clock())
        if self._is_released:  # meanwhile, by a process that ends
            self.release()

    def release(self) -> None:
        """Give all duties up. Raises StoreError."""
        self._is_released = True
        self._held = frozenset()
        release_duties(database=self._database, owner=self.owner)

    def others_may_write(self, user_email: str) -> bool:
        """Whether another process may still write for this closed account. Raises StoreError."""
        return others_may_write(
            database=self._database, owner=self.owner, user_email=user_email, may_take_over=self.may_take_over
        )

    def may_take_over(self) -> bool:
        """Whether a lease that has ended shows that its owner is gone: the store took writes all the time."""
        return self._trusts_from <= self._clock() < self._renewed_at + TRUSTED_SECONDS

    def _renewed(self, asked_at: float, now: float) -> None:
        if now - asked_at >= SLOW_SECONDS or now - self._renewed_at >= TRUSTED_SECONDS:
            self._trusts_from = now + SETTLE_SECONDS
        self._renewed_at = now

    def _taken(self, names: Collection[str]) -> set[str]:
        return take_duties(
            database=self._database,
            owner=self.owner,
            names=names,
            is_busy=self._is_busy,
            may_take_over=self.may_take_over,
        )
