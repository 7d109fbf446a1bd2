"""Announcements: hints that one process sends to all others, so that they read the store sooner.

A hint may be lost, late, repeated or wrong without harm: the receiver reads the store, which it also polls from time to
time. Only the events of ephemeral turns are sent themselves, since no store has them; a receiver that misses some asks
for them again.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Protocol

log = logging.getLogger(__name__)
Heard = Callable[[bytes], None]
"""What is called with the payload of an announcement. It must not block, and may be called from any thread."""

CHANGES = "changes"
"""The topic of committed changes; payload: a JSON array of the emails of the people whose things changed."""

WATCHED = "watched"
"""The topic of turns that are watched in another process than their own; payload: a JSON array of message ids."""
EVENTS = "events"
"""The topic of committed events of such turns; payload: a JSON array of the message ids of their streams."""
STOPS = "stops"
"""The topic of turns that another process has to stop; payload: a JSON array of the names of those processes."""
UNKEPT = "unkept"
"""The topic of turns that are not kept and whose events a process has in memory; payload: a JSON object."""
ASKED = "asked"
"""The topic of such turns that are watched in another process than their own; payload: a JSON array of objects."""
TOLD = "told"
"""The topic of the events of such turns, which are in no store; payload: a line of JSON, then a line each event."""


class Announcements(Protocol):
    """Calls the subscribers of a topic: those of this process before `announce` returns, those of others soon after."""

    @property
    def reaches_others(self) -> bool:
        """Whether announcements pass between this process and others at the moment."""
        ...

    def announce(self, topic: str, payload: bytes) -> None:
        """Tell the subscribers of `topic`. Never waits for another process, and never raises."""
        ...

    def subscribe(self, topic: str, heard: Heard) -> Callable[[], None]:
        """Call `heard` with the payload of each announcement of `topic`; returns a function that unsubscribes."""
        ...


class LocalAnnouncements:
    """Announcements within one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: dict[str, list[Heard]] = {}

    @property
    def reaches_others(self) -> bool:
        """Never."""
        return False

    def announce(self, topic: str, payload: bytes) -> None:
        """Call the subscribers of `topic` in this thread; their exceptions are logged."""
        with self._lock:
            subscribers = list(self._subscribers.get(topic, ()))
        for heard in subscribers:
            try:
                heard(payload)
            except Exception:
                log.exception("a subscriber of %s failed", topic)

    def subscribe(self, topic: str, heard: Heard) -> Callable[[], None]:
        """Call `heard` with the payload of each announcement of `topic`; returns a function that unsubscribes."""
        with self._lock:
            self._subscribers.setdefault(topic, []).append(heard)
        return partial(self._unsubscribe, topic, heard)

    def _unsubscribe(self, topic: str, heard: Heard) -> None:
        with self._lock:
            if heard in self._subscribers.get(topic, ()):
                self._subscribers[topic].remove(heard)
