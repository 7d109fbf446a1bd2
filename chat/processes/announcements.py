"""Announcements: what one process tells all others at once, so that they look into the store sooner.

An announcement is a hint. One that is lost, late, repeated or for nothing costs a look at the store and never a word:
whoever hears it reads the store, and looks there every now and then in any case. Only the events of turns that are not
kept travel themselves, since no store has them; whoever misses some asks for them again.
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
    """Tells the subscribers of a topic, those of this process before `announce` returns, of others soon after."""

    @property
    def reaches_others(self) -> bool:
        """Whether other processes hear now what is announced here, and the other way round."""
        ...

    def announce(self, topic: str, payload: bytes) -> None:
        """Tell the subscribers of `topic`. Never waits for another process, and never raises."""
        ...

    def subscribe(self, topic: str, heard: Heard) -> Callable[[], None]:
        """Call `heard` with the payload of each announcement of `topic`; what is returned ends that."""
        ...


class LocalAnnouncements:
    """Announcements within one process. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._subscribers: dict[str, list[Heard]] = {}

    @property
    def reaches_others(self) -> bool:
        """Never."""
        return False

    def announce(self, topic: str, payload: bytes) -> None:
        """Call the subscribers of `topic` in this thread; what one of them raises is logged."""
        with self._lock:
            subscribers = list(self._subscribers.get(topic, ()))
        for heard in subscribers:
            try:
                heard(payload)
            except Exception:
                log.exception("a subscriber of %s failed", topic)

    def subscribe(self, topic: str, heard: Heard) -> Callable[[], None]:
        """Call `heard` with the payload of each announcement of `topic`; what is returned ends that."""
        with self._lock:
            self._subscribers.setdefault(topic, []).append(heard)
        return partial(self._unsubscribe, topic, heard)

    def _unsubscribe(self, topic: str, heard: Heard) -> None:
        with self._lock:
            if heard in self._subscribers.get(topic, ()):
                self._subscribers[topic].remove(heard)
