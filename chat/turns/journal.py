"""Stores each event before anybody sees it, all running answers together: one commit every few milliseconds.

What a client has seen is on disk. Text that arrives faster than we commit becomes one event.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future

from database.errors import StorageBusyError

from . import events
from .events import Event
from .streams import LiveStream

log = logging.getLogger(__name__)
Row = tuple[str, int, bytes]
_SHORTEST_PAUSE = 0.002
_LONGEST_PAUSE = 0.015
_PAUSE_A_STREAM = 0.000_025


class Journal:
    """The journal of one loop.

    `submit` queues rows (message_id, seq, event) as one transaction and returns its future.
    """

    def __init__(
        self, *, submit: Callable[[Sequence[Row]], Future[None]], on_failure: Callable[[LiveStream, Exception], None]
    ) -> None:
        self._submit = submit
        self._on_failure = on_failure
        self._pending: dict[LiveStream, list[Event]] = {}
        self._in_flight: dict[LiveStream, list[Event]] = {}
        self._open: set[LiveStream] = set()
        self._failed: set[LiveStream] = set()
        self._committing: asyncio.Task[None] | None = None
        self._round: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def append(self, stream: LiveStream, event: Event) -> None:
        """Store `event`, if it is to be kept, then publish it to the watchers of `stream`.

        After a failure nothing more of the stream is stored: what is stored has no gaps.
        """
        if stream in self._failed:
            return
        self._open.add(stream)
        pending = self._pending.setdefault(stream, [])
        if pending and (both := events.joined(pending[-1], event)):
            pending[-1] = both
        else:
            pending.append(event)
        if self._committing is None:
            self._committing = asyncio.create_task(self._commit_until_quiet())

    async def flush(self, stream: LiveStream) -> bool:
        """Wait until everything that was appended for `stream` is stored and published; False where that failed."""
        while stream in self._pending or stream in self._in_flight:
            await asyncio.shield(self._round)
        return stream not in self._failed

    async def settle(self, stream: LiveStream) -> None:
        """`flush`, then forget the stream."""
        await self.flush(stream)
        self._open.discard(stream)
        self._failed.discard(stream)

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
            batch = {stream: _encoded(stream, pending) for stream, pending in self._in_flight.items()}
            to_store = [row for stream, rows in batch.items() if stream.kept for row in rows]
            if to_store:
                await asyncio.wrap_future(self._submit(to_store))
        except StorageBusyError as error:
            log.warning("events of %d answers wait to be stored: %s", len(self._in_flight), error)
            self._take_back()
        except Exception as error:  # whatever the store says, these turns can't go on
            log.exception("could not store events of %d answers", len(self._in_flight))
            for stream, pending in self._in_flight.items():
                if "done" in pending[-1]:
                    # The answer itself is stored, since its turn was finished after a flush; readers are given the
                    # closing events again from that.
                    stream.publish([line for _, _, line in _encoded(stream, pending)])
                else:
                    self._fail(stream, error)
        else:
            for stream, rows in batch.items():
                stream.publish([line for _, _, line in rows])
        finally:
            self._in_flight = {}
            finished, self._round = self._round, asyncio.get_running_loop().create_future()
            finished.set_result(None)

    def _pause(self) -> float:
        # Few answers are to be fast, many are to share commits.
        return min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, len(self._open) * _PAUSE_A_STREAM))

    def _take_back(self) -> None:
        came_since, self._pending = self._pending, self._in_flight
        for stream, later in came_since.items():
            self._pending.setdefault(stream, []).extend(later)

    def _fail(self, stream: LiveStream, error: Exception) -> None:
        self._failed.add(stream)
        self._pending.pop(stream, None)
        self._on_failure(stream, error)


def _encoded(stream: LiveStream, pending: Sequence[Event]) -> list[Row]:
    first = stream.last_seq + 1
    return [(stream.message_id, first + n, events.encode(event, seq=first + n)) for n, event in enumerate(pending)]
