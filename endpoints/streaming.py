"""Answers that grow: events as NDJSON, one a line, and files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from flask import Response

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

NDJSON = "application/x-ndjson"


class EventStream(Protocol):
    """The events of one answer, encoded, from any point on, for watchers on the loop and in threads."""

    def tail(self, after: int) -> AsyncIterator[bytes]:
        """Chunks of whole lines, on the server's loop."""
        ...

    def lines(self, after: int) -> Iterator[bytes]:
        """The same, in a thread that may wait."""
        ...


class StreamBody:
    """A body for two kinds of servers: our own tails `stream` on its loop; any other iterates, and a thread waits."""

    def __init__(self, stream: EventStream, after: int) -> None:
        self.stream = stream
        self.after = after

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.stream.lines(self.after))

    def tail(self) -> AsyncIterator[bytes]:
        """What to send, chunk by chunk."""
        return self.stream.tail(self.after)


class StreamResponse(Response):
    """Events of `stream` after number `after`, as they come; or the bytes of a file, as they are made."""

    # A caller that measured or copied the body would wait for the whole answer.
    implicit_sequence_conversion = False
    automatically_set_content_length = False

    def __init__(self, stream: EventStream, after: int = 0, *, media: str = NDJSON) -> None:
        self.body = StreamBody(stream, after)
        super().__init__(
            self.body,
            mimetype=media,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    def get_app_iter(self, environ: WSGIEnvironment) -> Iterable[bytes]:
        """The body itself, so that the server that calls us can tell it from an ordinary one."""
        return () if environ["REQUEST_METHOD"] == "HEAD" else self.body


def stream_response(stream: EventStream, *, after: int = 0) -> StreamResponse:
    """Watch `stream` from event `after` + 1 on."""
    return StreamResponse(stream, after)
