"""The end of a call that nobody waits for any more."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Stop:
    """What is to be done once a call is given up. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stopped = False
        self._due: list[Callable[[], None]] = []

    def then(self, work: Callable[[], None]) -> None:
        """Do `work` once the call is given up; at once where that has happened."""
        with self._lock:
            if not self._stopped:
                self._due.append(work)
                return
        work()

    def stop(self) -> None:
        """Give the call up."""
        with self._lock:
            self._stopped, due = True, self._due
        for work in due:
            work()
