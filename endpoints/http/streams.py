"""Streamed responses: events as NDJSON, and files produced while they are sent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Protocol

import orjson
from flask import Response
from werkzeug.datastructures import Headers

import tracing
from chat.processes.threads import WorkerThreads
from chat.turns.streams import signed_out

from .scope import Access, current_access

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


NDJSON = "application/x-ndjson"


class EventStream(Protocol):
    """The encoded events of one answer from any point on, for watchers on the loop and in threads."""

    def tail(self, after: int) -> AsyncIterator[bytes]:
        """Chunks of whole lines, on the server's loop."""

    def lines(self, after: int) -> Iterator[bytes]:
        """The same, for a thread that may block."""


class StreamBody:
    """A body for two kinds of servers: ours sends `stream` from its loop; others iterate it in a thread.

    access: with which the stream of events ends; None: it goes on to its own end. request_id: of the request that it
    answers, for the log.
    """

    def __init__(self, stream: EventStream, after: int, access: Access | None = None) -> None:
        self.stream = stream
        self.after = after
        self.access = access
        self.request_id = tracing.began_by.get()
        self._sent = b""

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.stream.lines(self.after))

    def tail(self) -> AsyncIterator[bytes]:
        """What to send, chunk by chunk."""
        return self.stream.tail(self.after)

    def note_sent(self, chunk: bytes) -> None:
        """This chunk of `tail` is on its way."""
        self._sent = chunk

    def signed_out(self) -> bytes:
        """The line to send instead of what is left, once `access` has ended."""
        sent = self._sent.splitlines()
        return signed_out(orjson.loads(sent[-1])["seq"] if sent else self.after)


class StreamResponse(Response):
    """Events of `stream` after number `after`, or the bytes of a file, as they are produced. access: as of the body."""

    # A caller that measures or copies the body would wait for the whole answer.
    implicit_sequence_conversion = False
    automatically_set_content_length = False

    def __init__(
        self, stream: EventStream, after: int = 0, *, media: str = NDJSON, access: Access | None = None
    ) -> None:
        self.body = StreamBody(stream, after, access)
        super().__init__(
            self.body,
            mimetype=media,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    def get_wsgi_headers(self, environ: WSGIEnvironment) -> Headers:
        """The headers as they are: there is no address in them to complete, and no length to set."""
        return self.headers

    def get_app_iter(self, environ: WSGIEnvironment) -> Iterable[bytes]:
        """The body itself, so that the server that calls us can tell it from an ordinary one."""
        return () if environ["REQUEST_METHOD"] == "HEAD" else self.body


def stream_response(stream: EventStream, *, after: int = 0) -> StreamResponse:
    """Watch `stream` from event `after` + 1 on, as long as the caller's session or token is valid."""
    return StreamResponse(stream, after, access=current_access())


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
    """Its own threads: the loop's default threads resolve host names of models."""
    return WorkerThreads(_THREADS, name="file-streams")
