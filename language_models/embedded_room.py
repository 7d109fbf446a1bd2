"""Memory for few: which embedded models may have a process, beside those that the settings name."""

from __future__ import annotations

import threading
from typing import Protocol

_LOOK_AGAIN = 0.2


class Guest(Protocol):
    """What takes up room, and can be asked to make some."""

    @property
    def last_used(self) -> float:
        """When it was last of use, on the monotonic clock."""
        ...

    def rest(self) -> bool:
        """End its process if nobody uses it; False where somebody does."""
        ...


class EmbeddedRoom:
    """Room for `places` processes at once: whoever comes has the idle one end that was not used for longest."""

    def __init__(self, places: int = 1) -> None:
        self._places = places
        self._guests: list[Guest] = []
        self._changed = threading.Condition()

    def enter(self, guest: Guest, *, stop: threading.Event) -> bool:
        """Wait for a place, as long as all guests are in use. False when `stop` is set first."""
        with self._changed:
            while not stop.is_set():
                if len(self._guests) < self._places:
                    self._guests.append(guest)
                    return True
                for other in sorted(self._guests, key=lambda each: each.last_used):
                    if other.rest():
                        break
                # One that rests leaves when its process has ended, and its memory is free.
                self._changed.wait(_LOOK_AGAIN)
        return False

    def leave(self, guest: Guest) -> None:
        """Give the place back; nothing happens where there is none."""
        with self._changed:
            if guest in self._guests:
                self._guests.remove(guest)
                self._changed.notify_all()
