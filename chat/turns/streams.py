"""The events of a turn: the journal stores each before it is sent, for any number of watchers, each from any position.

The events of all running answers are stored together, by one commit every few milliseconds. Text that arrives faster
than the commits becomes one event.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import orjson

import tracing
from chat.exchange import events
from chat.exchange.events import Event
from database.engine.database import Job
from database.engine.errors import StorageBusyError, StorageFailedError, StoreError

log = logging.getLogger(__name__)
HEARTBEAT_SECONDS = 10.0
_SHORTEST_PAUSE = 0.002
_LONGEST_PAUSE = 0.015
_PAUSE_A_STREAM = 0.000_025
_OPENING_PAUSE = 0.03
"""The report and the ids of a turn wait so long for the first words, so that one commit stores them all."""
Row = tuple[str, int, bytes]
Submit = Callable[[Sequence[Row], Sequence[Job[object]]], Awaitable[None]]


class LiveStream:
    """The events of one running turn, all of them stored already, if they are to be stored.

    `publish` and `close` are called on the loop that runs the turn. `tail` is for watchers on that loop, `lines` for
    watchers in threads of their own. A watcher that begins at `after=N` gets the events N+1, N+2, … without gap or
    repetition. message_id: of the first answer. answers: the message ids of all answers that were begun. kept: False
    for a turn that is not kept: its events are stored nowhere else. on_news: called with the number of the last
    event before those that were published just now.
    """

    def __init__(self, *, message_id: str, conversation_id: str, user_email: str, kept: bool = True) -> None:
        self.message_id = message_id
        self.answers = [message_id]
        self.kept = kept
        self.on_news: Callable[[int], None] | None = None
        self.conversation_id = conversation_id
        self.user_email = user_email
        self._lines: list[bytes] = []
        self._closed = False
        self._waiting: list[asyncio.Future[bool]] = []
        self._changed = threading.Condition()
        # Threads that wait; a server's own watchers are on the loop.
        self._blocked = 0

    @property
    def last_seq(self) -> int:
        """The number of the newest event; 0 before the first."""
        return len(self._lines)

    @property
    def closed(self) -> bool:
        """Whether the last event was published."""
        return self._closed

    def publish(self, lines: Sequence[bytes]) -> None:
        """Give watchers the next events, encoded, without line breaks, in order."""
        before = len(self._lines)
        self._lines.extend(lines)
        self._wake()
        if self.on_news is not None:
            self.on_news(before)

    def beyond(self, after: int) -> list[bytes]:
        """The known events after number `after`."""
        return self._lines[after:]

    def close(self) -> None:
        """Mark the stream as complete."""
        self._closed = True
        self._wake()

    async def tail(self, after: int = 0) -> AsyncIterator[bytes]:
        """Chunks of whole NDJSON lines; lines that are ready together share a chunk.

        A heartbeat is sent during long pauses.
        """
        position = after
        while True:
            if position < len(self._lines):
                chunk = self._lines[position:]
                position += len(chunk)
                yield b"\n".join(chunk) + b"\n"
            elif self._closed:
                return
            elif not await self._something_new():
                yield heartbeat(position)

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """The same as `tail`, for a thread that may wait."""
        position = after
        while True:
            self._wait_beyond(position)
            closed = self._closed
            chunk = self._lines[position:]
            position += len(chunk)
            if chunk:
                yield b"\n".join(chunk) + b"\n"
            elif closed:
                return
            else:
                yield heartbeat(position)

    async def _something_new(self) -> bool:
        # A timer and a future for each wait: `asyncio.wait_for` would make a task, ten times as dear, for each delta.
        loop = asyncio.get_running_loop()
        changed: asyncio.Future[bool] = loop.create_future()
        timer = loop.call_later(HEARTBEAT_SECONDS, _settle, changed, False)
        self._waiting.append(changed)
        try:
            return await changed
        finally:
            timer.cancel()
            if changed in self._waiting:
                self._waiting.remove(changed)

    def _wake(self) -> None:
        waiting, self._waiting = self._waiting, []
        for changed in waiting:
            _settle(changed, True)
        if self._blocked:  # who begins to wait after this look has seen the news
            with self._changed:
                self._changed.notify_all()

    def _wait_beyond(self, position: int) -> None:
        """Block this thread until an event after `position`, the end of the stream, or the next heartbeat."""
        with self._changed:
            self._blocked += 1
            try:
                if position >= len(self._lines) and not self._closed:
                    self._changed.wait(HEARTBEAT_SECONDS)
            finally:
                self._blocked -= 1


def _settle(changed: asyncio.Future[bool], news: bool) -> None:
    if not changed.done():
        changed.set_result(news)


class StoredStream:
    """The events of an ended answer, read from the store; same interface as a live stream."""

    def __init__(self, *, message_id: str, events: Sequence[bytes]) -> None:
        self.message_id = message_id
        self._events = events

    async def tail(self, after: int = 0) -> AsyncIterator[bytes]:
        """All events at once; `after` was applied when they were read."""
        for chunk in self.lines(after):
            yield chunk

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """All events at once; `after` was applied when they were read."""
        if self._events:
            yield b"\n".join(self._events) + b"\n"


def heartbeat(seq: int) -> bytes:
    """A line that only shows that the connection is alive; it repeats the number of the last event."""
    return orjson.dumps({"seq": seq, "text": "", "status": "", "heartbeat": True}) + b"\n"


def signed_out(seq: int) -> bytes:
    """The last line of a stream whose session or token has ended; it repeats the number of the last event.

    The answer itself is not over: whoever logs in again can watch the rest of it.
    """
    return events.encode(events.error(code="unauthorized", message="Please log in."), seq=seq) + b"\n"


@dataclass(slots=True)
class _Unstored:
    """What a stream has not stored yet: events, and what belongs into the same transaction."""

    events: list[Event] = field(default_factory=list)
    writes: list[Job[object]] = field(default_factory=list)


class Journal:
    """The journal of one loop.

    `submit` queues writes, then rows (message_id, seq, event), as one transaction, and returns what waits for its
    commit. What that raises beside StoreError is the fault of some of the rows: an answer that another process has
    closed has events of these numbers.
    """

    def __init__(self, *, submit: Submit, on_failure: Callable[[LiveStream, Exception], None]) -> None:
        self._submit = submit
        self._on_failure = on_failure
        self._pending: dict[LiveStream, _Unstored] = {}
        self._in_flight: dict[LiveStream, _Unstored] = {}
        self._open: set[LiveStream] = set()
        self._failed: set[LiveStream] = set()
        self._committing: asyncio.Task[None] | None = None
        self._delayed: asyncio.TimerHandle | None = None
        self._round: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def append(self, stream: LiveStream, event: Event, writes: Sequence[Job[object]] = ()) -> None:
        """Store `event`, unless the turn is not kept, then publish it to the watchers of `stream`.

        writes: what is stored in the same transaction. They must not raise StoreError: it would be taken for a fault of
        the store, which fails all turns that share the transaction.
        After a failure no later event of the stream is stored, so that stored events have no gaps.
        """
        if stream in self._failed:
            return
        self._open.add(stream)
        pending = self._pending.get(stream)
        if pending is None:
            pending = self._pending[stream] = _Unstored()
        pending.writes += writes
        if pending.events and (both := _joined(pending.events[-1], event)):
            pending.events[-1] = both
        else:
            pending.events.append(event)
        if not _can_wait(event):
            self._begin()
        elif self._committing is None and self._delayed is None:
            self._delayed = asyncio.get_running_loop().call_later(_OPENING_PAUSE, self._begin)

    async def flush(self, stream: LiveStream) -> bool:
        """Wait until all events that were appended for `stream` are stored and published; False where that failed."""
        self._begin()
        while stream in self._pending or stream in self._in_flight:
            await asyncio.shield(self._round)
        return stream not in self._failed

    async def settle(self, stream: LiveStream) -> None:
        """`flush`, then forget the stream."""
        await self.flush(stream)
        self._open.discard(stream)
        self._failed.discard(stream)

    def _begin(self) -> None:
        """Commit what is pending, now and until nothing is."""
        if self._delayed is not None:
            self._delayed.cancel()
            self._delayed = None
        if self._committing is None and self._pending:
            # Of all turns, so it is logged under no request.
            work, context = self._commit_until_quiet(), tracing.context_of(None)
            self._committing = asyncio.create_task(work, context=context)

    async def _commit_until_quiet(self) -> None:
        try:
            while self._pending:
                await self._commit()
                await asyncio.sleep(self._pause())
        finally:
            self._committing = None

    async def _commit(self) -> None:
        self._in_flight, self._pending = self._pending, {}
        try:
            await self._store(list(self._in_flight))
        finally:
            self._in_flight = {}
            finished, self._round = self._round, asyncio.get_running_loop().create_future()
            finished.set_result(None)

    async def _store(self, streams: Sequence[LiveStream]) -> None:
        """Store and publish what is in flight of these streams; alone, where one of them is refused."""
        batch = {stream: _encoded(stream, self._in_flight[stream].events) for stream in streams}
        try:
            if to_store := list(chain(*(rows for stream, rows in batch.items() if stream.kept))):
                await self._submit(to_store, list(chain(*(self._in_flight[stream].writes for stream in streams))))
        except StorageBusyError as error:
            log.warning("events of %d answers wait to be stored: %s", len(batch), error)
            self._requeue(streams)
        except StoreError as error:  # these turns can't go on, whatever the store reports
            # Of a full disk, which meets every answer, each traceback would say the same.
            trace = None if isinstance(error, StorageFailedError) else error
            log.error("could not store events of %d answers: %s", len(batch), error, exc_info=trace)  # noqa: TRY400
            self._refuse(streams, error)
        except Exception as error:  # noqa: BLE001 - such as an answer among them that another process has closed
            await self._store_each(streams, error)
        else:
            for stream, rows in batch.items():
                stream.publish([line for _, _, line in rows])

    async def _store_each(self, streams: Sequence[LiveStream], error: Exception) -> None:
        """Store the events of each stream by itself, so that those fail alone that are at fault."""
        if len(streams) == 1:
            log.error("could not store events of the answer %s", streams[0].message_id, exc_info=error)
            self._refuse(streams, error)
            return
        for stream in streams:
            await self._store([stream])

    def _refuse(self, streams: Sequence[LiveStream], error: Exception) -> None:
        """Let the turns fail whose events can't be stored."""
        for stream in streams:
            pending = self._in_flight[stream].events
            if "done" in pending[-1]:
                # The turn was finished after a flush, so the answer is stored, and its closing events can be made
                # again from it.
                stream.publish([line for _, _, line in _encoded(stream, pending)])
            else:
                self._fail(stream, error)

    def _pause(self) -> float:
        # A few answers get short pauses, many share commits.
        return min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, len(self._open) * _PAUSE_A_STREAM))

    def _requeue(self, streams: Sequence[LiveStream]) -> None:
        newer, self._pending = self._pending, {stream: self._in_flight[stream] for stream in streams}
        for stream, later in newer.items():
            unstored = self._pending.setdefault(stream, later)
            if unstored is not later:
                unstored.events += later.events
                unstored.writes += later.writes

    def _fail(self, stream: LiveStream, error: Exception) -> None:
        self._failed.add(stream)
        self._pending.pop(stream, None)
        self._on_failure(stream, error)


def _encoded(stream: LiveStream, pending: Sequence[Event]) -> list[Row]:
    first = stream.last_seq + 1
    return [(stream.message_id, first + n, events.encode(event, seq=first + n)) for n, event in enumerate(pending)]


def _untagged(event: Event) -> Event:
    return {name: value for name, value in event.items() if name != "message_id"}


def _can_wait(event: Mapping[str, Any]) -> bool:
    """Whether the event is of no use to a reader before the first words: the report and the ids of a turn."""
    return not event["text"] and not event["status"] and ("references" in event or "message_ids" in event)


def _joined(earlier: Event, later: Event) -> Event | None:
    """One event that says what two in a row say, where both do nothing but append to the same text; else None."""
    if len(earlier) == 2 and len(later) == 2 and not earlier["status"] and not later["status"]:
        return events.text(earlier["text"] + later["text"])
    if earlier.get("message_id") != later.get("message_id"):
        return None
    if "message_id" in earlier:
        both = _joined(_untagged(earlier), _untagged(later))
        return both and events.of_answer(both, earlier["message_id"])
    before, more = earlier.get("part_text"), later.get("part_text")
    if before and more and before["id"] == more["id"]:
        return events.part_text(before["id"], before["text"] + more["text"])
    return None
