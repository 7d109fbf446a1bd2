"""Watching turns that another process runs: one reader fetches their committed events for all watchers.

Every FOLLOW_SECONDS one statement reads the new events of all followed turns; an announcement by the process that runs
them wakes the reader sooner. If that process dies, the stream ends once another process has closed the turn.

Ephemeral turns have no stored events: their process is asked for them, by announcements.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from itertools import groupby
from operator import itemgetter

import orjson

import tracing
from chat.exchange import events
from chat.exchange.errors import StreamElsewhereError
from chat.processes.announcements import ASKED, EVENTS, TOLD, WATCHED, Announcements
from chat.processes.threads import in_thread
from database.engine.database import Database
from database.engine.errors import NotFoundError, StoreError, StreamExpiredError
from database.turns.events import read_events
from database.turns.leases import events_beyond, still_written
from sentences import say, together

from .streams import LiveStream

log = logging.getLogger(__name__)
FOLLOW_SECONDS = 0.2
WATCHED_SECONDS = 10.0
"""So long the process that runs a turn takes it for watched by others after it was told so."""

_PAUSE = 0.015
_MOST_EVENTS = 5_000
_CHECK_SECONDS = 1.0
_ASK_SECONDS = 1.0
_SILENT_SECONDS = 5.0
"""A process that is asked for events answers at once, also where there are none: longer than this, it is gone."""
_KEPT_UNWATCHED = 5.0


class FollowedStream(LiveStream):
    """The events of a turn that another process runs, kept while anybody watches.

    checked_at: when the turn was last known to run. asked_at: when an ephemeral turn's process was last asked for
    events.
    """

    def __init__(self, *, message_id: str, conversation_id: str, user_email: str, kept: bool) -> None:
        who = {"message_id": message_id, "conversation_id": conversation_id, "user_email": user_email}
        super().__init__(**who, kept=kept)
        self.checked_at = self._left_at = time.monotonic()
        self.asked_at = 0.0
        self._watchers = 0
        self._counting = threading.Lock()

    async def tail(self, after: int = 0) -> AsyncIterator[bytes]:
        """As of a LiveStream."""
        with self._watched():
            async with aclosing(super().tail(after)) as chunks:  # type: ignore[type-var]
                async for chunk in chunks:
                    yield chunk

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """As of a LiveStream."""
        with self._watched():
            yield from super().lines(after)

    def is_wanted(self) -> bool:
        """Whether the stream has a watcher now, or had one a moment ago."""
        with self._counting:
            return bool(self._watchers) or time.monotonic() - self._left_at < _KEPT_UNWATCHED

    @property
    def quiet_seconds(self) -> float:
        """After this many seconds without an event, the store is asked whether the turn still runs."""
        return _CHECK_SECONDS if self.kept else _SILENT_SECONDS

    @contextmanager
    def _watched(self) -> Iterator[None]:
        with self._counting:
            self._watchers += 1
        try:
            yield
        finally:
            with self._counting:
                self._watchers -= 1
                self._left_at = time.monotonic()


class FollowedTurns:
    """The turns of other processes that this process watches. `follow` may be called from any thread.

    loop: the loop that reads them; requested when the first turn is followed.
    """

    def __init__(
        self, *, database: Database, loop: Callable[[], asyncio.AbstractEventLoop], announcements: Announcements
    ) -> None:
        self._database = database
        self._loop = loop
        self._announcements = announcements
        self._lock = threading.Lock()
        self._streams: dict[str, FollowedStream] = {}
        self._reading = False
        self._woken = asyncio.Event()
        self._told_at = 0.0
        announcements.subscribe(EVENTS, self._heard)
        announcements.subscribe(TOLD, self._hear_told)

    def follow(
        self, *, message_id: str, answer_id: str, conversation_id: str, user_email: str, kept: bool
    ) -> FollowedStream:
        """The stream stored under `message_id`, whose current answer is `answer_id`.

        kept: False for an ephemeral turn; raises StreamElsewhereError if its process can't be asked.
        """
        if not kept and not self._announcements.reaches_others:
            raise StreamElsewhereError
        loop = self._loop()
        with self._lock:
            stream = self._streams.get(message_id)
            if stream is None or stream.closed:
                who = {"message_id": message_id, "conversation_id": conversation_id, "user_email": user_email}
                stream = self._streams[message_id] = FollowedStream(**who, kept=kept)
                self._told_at = 0.0
            if answer_id not in stream.answers:
                stream.answers.append(answer_id)
            begins, self._reading = not self._reading, True
        if begins:
            # It reads for all who watch, so it is logged under no request.
            tracing.context_of(None).run(asyncio.run_coroutine_threadsafe, self._read_on(), loop)
        else:
            loop.call_soon_threadsafe(self._woken.set)
        return stream

    async def _read_on(self) -> None:
        """Read events until the last watcher leaves."""
        while streams := self._followed():
            self._woken.clear()  # before the store is read: what is committed from now on wakes again
            stored = [stream for stream in streams if stream.kept]
            self._tell_owners(stored)
            self._ask_owners([stream for stream in streams if not stream.kept])
            read = 0
            try:
                read = await self._read(stored)
                await self._check(streams)
            except StoreError as error:
                log.warning("turns of other servers can't be followed now: %s", error.message)
            except Exception:
                log.exception("turns of other servers can't be followed now")
            if read < _MOST_EVENTS:
                await self._pause()

    def _followed(self) -> list[FollowedStream]:
        with self._lock:
            self._streams = {name: each for name, each in self._streams.items() if not each.closed and each.is_wanted()}
            self._reading = bool(self._streams)
            return list(self._streams.values())

    def _tell_owners(self, streams: Sequence[FollowedStream]) -> None:
        """Ask the processes that run the turns to announce new events."""
        if streams and time.monotonic() - self._told_at > WATCHED_SECONDS / 2:
            self._told_at = time.monotonic()
            self._announcements.announce(WATCHED, orjson.dumps([stream.message_id for stream in streams]))

    def _ask_owners(self, streams: Sequence[FollowedStream]) -> None:
        """Ask the processes of ephemeral turns for new events; if no process can be reached, end the streams.

        Their watchers reconnect, and get an error that says why the turn can't be watched here.
        """
        now = time.monotonic()
        if not self._announcements.reaches_others:
            for stream in streams:
                stream.close()
            return
        asked = [stream for stream in streams if now - stream.asked_at > _ASK_SECONDS]
        for stream in asked:
            stream.asked_at = now
        if asked:
            self._announcements.announce(ASKED, orjson.dumps([_asked(stream) for stream in asked]))

    async def _read(self, streams: Sequence[FollowedStream]) -> int:
        """Publish what is new, by one statement for all; how many events there were."""
        positions = {stream.message_id: stream.last_seq for stream in streams}
        rows = await in_thread(events_beyond, database=self._database, positions=positions, most=_MOST_EVENTS)
        by_name = {stream.message_id: stream for stream in streams}
        for name, new in groupby(rows, key=itemgetter(0)):
            publish_stored(by_name[name], [(seq, event) for _, seq, event in new])
        return len(rows)

    async def _check(self, streams: Sequence[FollowedStream]) -> None:
        """End the streams whose turns ended without an event; their closing events are made from the answer."""
        now = time.monotonic()
        quiet = [stream for stream in streams if not stream.closed and now - stream.checked_at > stream.quiet_seconds]
        if not quiet:
            return
        current = {stream.answers[-1] for stream in quiet}
        written = await in_thread(still_written, database=self._database, message_ids=current)
        for stream in quiet:
            if stream.closed or stream.checked_at > now:  # it was told of meanwhile
                continue
            stream.checked_at = now - stream.quiet_seconds + _CHECK_SECONDS
            if stream.answers[-1] not in written:
                await self._end(stream)

    async def _end(self, stream: FollowedStream) -> None:
        if not stream.kept:  # its process has died
            message = together(say("server_stopped"), say("not_kept"))
            stream.publish(events.farewell(code="interrupted", message=message, after=stream.last_seq))
            stream.close()
            return
        try:
            rest = await in_thread(
                read_events,
                database=self._database,
                user_email=stream.user_email,
                message_id=stream.message_id,
                after=stream.last_seq,
            )
        except (NotFoundError, StreamExpiredError):  # deleted, or never kept
            stream.close()
            return
        publish_stored(stream, rest.events)
        if rest.complete:
            stream.close()

    async def _pause(self) -> None:
        """Wait until the next read is due, or for an announcement."""
        await asyncio.sleep(_PAUSE)
        with suppress(TimeoutError):
            async with asyncio.timeout(FOLLOW_SECONDS - _PAUSE):
                await self._woken.wait()

    def _hear_told(self, told: bytes) -> None:
        """Take events that another process announces; if some are missing before them, ask for these again."""
        head, *lines = told.split(b"\n")
        said = orjson.loads(head)
        with self._lock:
            found = [self._streams[name] for name in said["messages"] if name in self._streams]
        for stream in found:
            if not stream.kept and stream.user_email == said["user_email"]:
                with suppress(RuntimeError):  # the loop has ended
                    self._loop().call_soon_threadsafe(self._take, stream, said["first"], lines)

    def _take(self, stream: FollowedStream, first: int, lines: Sequence[bytes]) -> None:
        if stream.closed:
            return
        stream.checked_at = time.monotonic()
        if first > stream.last_seq + 1:
            stream.asked_at = 0.0
            self._woken.set()
        publish_stored(stream, list(enumerate(lines, first)))

    def _heard(self, names: bytes) -> None:
        with self._lock:
            concerns_us = self._reading and not self._streams.keys().isdisjoint(orjson.loads(names))
        if concerns_us:
            with suppress(RuntimeError):  # the loop has ended
                self._loop().call_soon_threadsafe(self._woken.set)


def publish_stored(stream: FollowedStream, events: Sequence[tuple[int, bytes]]) -> None:
    """Give watchers stored events that follow the last known one; the turn's last event ends the stream."""
    fitting: list[bytes] = []
    for seq, event in events:
        if seq == stream.last_seq + len(fitting) + 1:
            fitting.append(event)
            _note_answer(stream, event)
    if not fitting:
        return
    stream.checked_at = time.monotonic()
    stream.publish(fitting)
    if b'"done"' in fitting[-1] and orjson.loads(fitting[-1]).get("done") is True:
        stream.close()


def _note_answer(stream: FollowedStream, event: bytes) -> None:
    """A turn with several answers tells when the next one begins."""
    begun = orjson.loads(event).get("answer") if b'"answer"' in event else None
    if begun:
        stream.answers = [*(each for each in stream.answers if each != begun["message_id"]), begun["message_id"]]


def _asked(stream: FollowedStream) -> dict[str, object]:
    """What is asked for of a turn that is not kept."""
    return {"message_id": stream.message_id, "user_email": stream.user_email, "after": stream.last_seq}
