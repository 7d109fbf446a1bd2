"""How many turns a person may run at once, and how much they may use within a day."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from chat.exchange.errors import QuotaReachedError, TooManyTurnsError
from database.accounts.quotas import Quota, asked_to_take_message
from database.turns.identity import Admission

from .other_servers import OtherServers


class TurnLimits:
    """The places of people's turns in this process. Thread-safe.

    most_per_person: how many one person may run at once; None: any number. quota: what a person may use for whom no
    administrator has set anything else. others: count the turns of other servers.
    """

    def __init__(self, *, most_per_person: int | None, quota: Quota | None, others: OtherServers) -> None:
        # Turns of each person that are being accepted or answered.
        self._running: Counter[str] = Counter()
        self._most = most_per_person
        self._quota = quota or Quota()
        self._others = others
        self._lock = threading.Lock()

    def take_place(self, user_email: str) -> None:
        """Count a turn of the person from now on. Raises TooManyTurnsError."""
        with self._lock:
            if self._most is not None and self._running[user_email] >= self._most:
                raise TooManyTurnsError(limit=self._most)
            self._running[user_email] += 1

    def leave_place(self, user_email: str) -> None:
        """A turn of the person has ended, or was not accepted."""
        with self._lock:
            self._running[user_email] -= 1
            if not self._running[user_email]:
                del self._running[user_email]

    def running(self) -> int:
        """How many turns are being accepted or answered."""
        with self._lock:
            return self._running.total()

    def admission(self, user_email: str, *, is_new: bool) -> Admission:
        """Checks limits and counts the message within the transaction that accepts it.

        is_new: False if an answer is continued, which counts as no further message.
        Raises TooManyTurnsError, QuotaReachedError.
        """

        def ask(connection: Any) -> Callable[[], None]:
            refuse_beyond = self._others.ask_for_room(connection, user_email, most=self._most)
            take = asked_to_take_message(connection, user_email=user_email, defaults=self._quota, is_new=is_new)

            def admit() -> None:
                refuse_beyond()
                used_up = take()
                if used_up is not None:
                    raise QuotaReachedError(used_up)

            return admit

        return ask
