"""The duties of one server among several: which parts of the upkeep this process does for all of them.

With its duties it keeps the others told that it lives, and whether it still writes for accounts that were closed.
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

    def others_may_write(self, user_email: str) -> bool:
        """Whether a request of this closed account may be under way in another process. Raises StoreError."""
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

    def others_may_write(self, user_email: str) -> bool:
        del user_email
        return False


EVERY_DUTY: Duties = _All()


class SharedDuties:
    """The duties of one of several servers. Safe to use from any thread.

    is_busy: whether a request is under way in this process that may write for this account.
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

    def holds(self, name: str) -> bool:
        """Whether this process does it now: its lease was renewed in time, as far as the process itself can tell."""
        return name in self._held and self._clock() < self._until

    def keep(self, names: Collection[str]) -> None:
        """Renew what is held, and take what nobody does. Call it every RENEW_SECONDS. Raises StoreError."""
        asked_at = self._clock()
        self._held = frozenset(self._taken(names))
        self._until = asked_at + LEASE_SECONDS - _MARGIN

    def release(self) -> None:
        """Let others do it from now on. Raises StoreError."""
        self._held = frozenset()
        release_duties(database=self._database, owner=self.owner)

    def others_may_write(self, user_email: str) -> bool:
        """Whether a request of this closed account may be under way in another process. Raises StoreError."""
        return others_may_write(database=self._database, owner=self.owner, user_email=user_email)

    def _taken(self, names: Collection[str]) -> set[str]:
        return take_duties(database=self._database, owner=self.owner, names=names, is_busy=self._is_busy)
