"""Watching changes: each person's stream of `database.changes`, for any number of tabs, devices and programs.

A watcher reads the store from its own position whenever it is woken, so that it misses nothing and repeats nothing,
however slow its client is. What wakes it is only a hint: the announcement of a committed change, by this process or
another, or the look at the store every second, which finds the changes that nobody announced here.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from typing import Any

import orjson

from chat.processes.announcements import CHANGES, Announcements, LocalAnnouncements
from chat.processes.threads import WorkerThreads
from chat.turns.streams import HEARTBEAT_SECONDS, signed_out
from database.changes import StoredChange, changes_after, kept_range, newest_changes
from database.engine.database import Database
from database.engine.errors import StoreError

log = logging.getLogger(__name__)
MOST_WATCHERS = 50
"""How many streams of changes one person may have open."""

_AT_ONCE = 200
_THREADS = 2


class ChangeFeed:
    """Wakes the watchers of changes of one server. Safe to use from any thread.

    announcements: how processes tell each other of the changes that they commit.
    """

    def __init__(self, *, database: Database, announcements: Announcements | None = None) -> None:
        self.database = database
        self._announcements = announcements or LocalAnnouncements()
        self.closed = False
        self._lock = threading.Lock()
        self._watchers: dict[str, set[Callable[[], None]]] = {}
        self._newest: dict[str, int] = {}
        self._announcements.subscribe(CHANGES, lambda people: self.wake(orjson.loads(people)))
        database.on_changes = self._announce

    def has_room(self, user_email: str) -> bool:
        """Whether the person may open a further stream."""
        with self._lock:
            return len(self._watchers.get(user_email, ())) < MOST_WATCHERS

    def watch(
        self,
        *,
        user_email: str,
        after: int | None,
        epoch: str | None = None,
        is_allowed: Callable[[], bool] = lambda: True,
    ) -> ChangeStream:
        """The person's changes after number `after`; None: those that come from now on.

        epoch: the one that `after` was counted in; None where the client doesn't know it.
        is_allowed: asked before anything is read; False ends the stream with `signed_out`. Raises StoreError.
        """
        kept = kept_range(database=self.database, user_email=user_email)
        first: dict[str, Any] = {}
        position = kept.newest
        if after is None:
            first = {"seq": kept.newest, "hello": True, "epoch": kept.epoch}
        elif kept.oldest - 1 <= after <= kept.newest and epoch in (None, kept.epoch):
            position = after
        else:
            # Older than what is kept, or from before a backup was restored: the client has to load its lists again.
            first = {"seq": kept.newest, "reset": True, "epoch": kept.epoch}
        return ChangeStream(
            self, user_email=user_email, position=position, first=_line(first) if first else b"", is_allowed=is_allowed
        )

    @contextmanager
    def waking(self, user_email: str, wake: Callable[[], None]) -> Iterator[None]:
        """Call `wake`, which must not block, whenever the person may have new changes, and when the feed closes."""
        with self._lock:
            self._watchers.setdefault(user_email, set()).add(wake)
        try:
            yield
        finally:
            with self._lock:
                watchers = self._watchers[user_email]
                watchers.discard(wake)
                if not watchers:
                    del self._watchers[user_email]
                    self._newest.pop(user_email, None)

    def count_watchers(self) -> int:
        """How many watch."""
        with self._lock:
            return sum(map(len, self._watchers.values()))

    def wake(self, people: Collection[str]) -> None:
        """Wake the watchers of these people."""
        with self._lock:
            waking = [wake for user_email in people for wake in self._watchers.get(user_email, ())]
        for wake in waking:
            wake()

    def _announce(self, people: Collection[str]) -> None:
        # A watcher that begins just now reads the store after it can be woken.
        if self._watchers or self._announcements.reaches_others:
            self._announcements.announce(CHANGES, orjson.dumps(list(people)))

    def look(self) -> int:
        """Wake the watchers of people who have changes that were committed elsewhere; how many people."""
        with self._lock:
            watched = list(self._watchers)
        if not watched:
            return 0
        newest = newest_changes(database=self.database, user_emails=watched)
        with self._lock:
            news = [user_email for user_email, seq in newest.items() if self._newest.get(user_email) != seq]
            self._newest.update({user_email: newest[user_email] for user_email in news if user_email in self._watchers})
        self.wake(news)
        return len(news)

    def close(self) -> None:
        """End all streams: the server stops."""
        self.closed = True
        with self._lock:
            people = list(self._watchers)
        self.wake(people)


class ChangeStream:
    """One watcher's NDJSON lines; it can be read once. `first`: the line that it begins with, or b""."""

    def __init__(
        self, feed: ChangeFeed, *, user_email: str, position: int, first: bytes, is_allowed: Callable[[], bool]
    ) -> None:
        self._feed = feed
        self._user_email = user_email
        self._position = position
        self._first = first
        self._is_allowed = is_allowed
        self._ended = False

    async def tail(self, after: int = 0) -> AsyncIterator[bytes]:
        """Chunks of whole lines, for a watcher on the server's loop; `after` was applied by `ChangeFeed.watch`."""
        del after
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        with self._feed.waking(self._user_email, partial(_wake_on, loop, woken)):
            if self._first:
                yield self._first
            while not self._ended:
                woken.clear()  # before the store is read: what is committed from now on wakes again
                chunk = await loop.run_in_executor(_threads(), self._next)
                if chunk:
                    yield chunk
                elif not self._ended and not await _within(HEARTBEAT_SECONDS, woken):
                    yield self._heartbeat()

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """The same, for a watcher in a thread that may wait."""
        del after
        woken = threading.Event()
        with self._feed.waking(self._user_email, woken.set):
            if self._first:
                yield self._first
            while not self._ended:
                woken.clear()
                chunk = self._next()
                if chunk:
                    yield chunk
                elif not self._ended and not woken.wait(HEARTBEAT_SECONDS):
                    yield self._heartbeat()

    def _next(self) -> bytes:
        """The lines of the next changes; b"" where there are none yet, or where the stream ends."""
        try:
            if self._feed.closed:
                return self._end()
            if not self._is_allowed():
                return self._end(signed_out(self._position))
            found = changes_after(
                database=self._feed.database, user_email=self._user_email, after=self._position, most=_AT_ONCE
            )
        except StoreError as error:
            log.warning("a stream of changes ends: %s", error.message)
            return self._end()
        if found:
            self._position = found[-1].seq
        return b"".join(map(_change_line, found))

    def _end(self, last: bytes = b"") -> bytes:
        """End the stream with this line."""
        self._ended = True
        return last

    def _heartbeat(self) -> bytes:
        return _line({"seq": self._position, "heartbeat": True})


@cache
def _threads() -> WorkerThreads:
    return WorkerThreads(_THREADS, name="changes")


def _wake_on(loop: asyncio.AbstractEventLoop, woken: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(woken.set)


async def _within(seconds: float, woken: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            return await woken.wait()
    return False


def _change_line(change: StoredChange) -> bytes:
    shown = change._asdict()
    if change.conversation_id is None:
        del shown["conversation_id"]
    return _line(shown)


def _line(content: object) -> bytes:
    return orjson.dumps(content) + b"\n"
