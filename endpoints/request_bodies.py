"""What a request carries: taken in whole, within bounds of size and time, before a thread is taken for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from .errors import RequestTooSlowError, TooLargeError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_BODY_SECONDS = 60.0
_DISCARD_SECONDS = 10.0
_DISCARD_BYTES = 64 * 1024 * 1024


class RequestBody:
    """The body of one request, read by `receive`. `declared` is its length in bytes, where the client has said it."""

    def __init__(self, receive: Receive, *, declared: int | None) -> None:
        self._receive = receive
        self._declared = declared
        self._ended = False

    @property
    def ended(self) -> bool:
        """Whether all of it has arrived."""
        return self._ended

    async def read(self, *, most: int) -> bytes:
        """All of it. Raises TooLargeError over `most` bytes, RequestTooSlowError, ConnectionResetError."""
        if self._declared is not None and self._declared > most:
            raise _too_large()
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                return b"".join([chunk async for chunk in self._chunks(most)])
        except TimeoutError:
            raise RequestTooSlowError("The request took too long to arrive.") from None

    async def discard(self) -> None:
        """Read the rest and forget it, as far as that is little and comes soon.

        Many clients read an answer only when they have sent everything, and lose it when the connection ends before.
        """
        if self._declared is not None and self._declared > _DISCARD_BYTES:
            return
        with suppress(TimeoutError, TooLargeError, ConnectionResetError):
            async with asyncio.timeout(_DISCARD_SECONDS):
                async for _ in self._chunks(_DISCARD_BYTES):
                    pass

    async def _chunks(self, most: int) -> AsyncIterator[bytes]:
        size = 0
        while not self._ended:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise ConnectionResetError
            self._ended = not event.get("more_body", False)
            chunk: bytes = event.get("body", b"")
            size += len(chunk)
            if size > most:
                raise _too_large()
            yield chunk


def _too_large() -> TooLargeError:
    return TooLargeError("The request is too large.")
