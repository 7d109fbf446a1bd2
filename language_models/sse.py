"""Server-sent events: bytes in, the data of whole events out."""

from __future__ import annotations

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLargeError(ValueError):
    """An event grew beyond the limit without ending."""


class EventParser:
    """Splits a byte stream into events, wherever the chunks happen to end.

    Only `data` is handed on: event names, ids, retry times and comments mean nothing to a chat-completions client.
    Lines may end in LF, CRLF or CR.
    """

    __slots__ = ("_limit", "_skip_line_feed", "_tail")

    def __init__(self, *, limit: int = 16 * 1024 * 1024) -> None:
        """Refuse events longer than `limit` bytes."""
        self._limit = limit
        self._tail = b""
        self._skip_line_feed = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Data of each event that `chunk` completes. Raises EventTooLargeError."""
        if self._skip_line_feed and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skip_line_feed = False
        if b"\r" in chunk:
            # A CR ends its line at once; an LF that opens the next chunk belongs to it.
            self._skip_line_feed = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *blocks, self._tail = (self._tail + chunk).split(b"\n\n")
        if len(self._tail) > self._limit:
            raise EventTooLargeError(f"an event of more than {self._limit} bytes")
        if not blocks:
            return []
        return [data for block in blocks if (data := _data_of(block)) is not None]

    def finish(self) -> list[bytes]:
        """Data of the last event, for servers that end the stream without the closing blank line."""
        block, self._tail = self._tail, b""
        data = _data_of(block)
        return [] if data is None else [data]


def _data_of(block: bytes) -> bytes | None:
    if block.startswith(b"data: ") and b"\n" not in block:
        return block[6:]
    values = []
    for line in block.removeprefix(_BYTE_ORDER_MARK).split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            values.append(value.removeprefix(b" "))
    return b"\n".join(values) if values else None
