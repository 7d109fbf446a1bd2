"""The events of a turn, for any number of watchers, each from any position."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence

import orjson

from chat.exchange import events

HEARTBEAT_SECONDS = 10.0


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
