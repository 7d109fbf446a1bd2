"""Files that are made while they are sent: never whole in memory, and no thread waits for a slow reader."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import cache

from chat.threads import WorkerThreads

_THREADS = 2
_BYTES_AT_ONCE = 64 * 1024


class FileStream:
    """The bytes of one file, in order; they can be read once."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks

    async def tail(self, after: int) -> AsyncIterator[bytes]:
        """The bytes, each piece made in a thread when the one before has been sent; `after` counts for events only."""
        pieces = self.lines(after)
        loop = asyncio.get_running_loop()
        while piece := await loop.run_in_executor(_threads(), next, pieces, b""):
            yield piece

    def lines(self, after: int) -> Iterator[bytes]:
        """The bytes in pieces worth sending; `after` counts for events only."""
        del after
        piece = bytearray()
        for chunk in self._chunks:
            piece += chunk
            if len(piece) >= _BYTES_AT_ONCE:
                yield bytes(piece)
                piece.clear()
        if piece:
            yield bytes(piece)


@cache
def _threads() -> WorkerThreads:
    """Not the loop's default threads: those look up the addresses of models."""
    return WorkerThreads(_THREADS, name="file-streams")
