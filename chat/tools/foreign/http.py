"""The connection to a foreign MCP server over HTTP, which answers with little and leads nowhere else.

`httpx2` is imported here, so this module is imported by the first call.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

import httpx2

from .configuration import ForeignServer

MOST_BYTES = 4 * 1024 * 1024
"""The longest body of one response."""


class AnswerTooLongError(Exception):
    """The server's response is longer than `MOST_BYTES`, or compressed, although we ask for plain ones."""


def client_for(server: ForeignServer) -> httpx2.AsyncClient:
    """A client for the requests of one call, with the server's headers; nothing of our environment goes into them."""
    # It logs the address of each request.
    logging.getLogger("httpx2").setLevel(logging.CRITICAL)
    logging.getLogger("httpcore2").setLevel(logging.CRITICAL)
    return httpx2.AsyncClient(
        transport=_BoundedTransport(httpx2.AsyncHTTPTransport(trust_env=False)),
        headers={**server.headers, "Accept-Encoding": "identity"},
        timeout=server.seconds,
        trust_env=False,
    )


class _BoundedTransport(httpx2.AsyncBaseTransport):
    """Ends responses that are too long, before they are in memory."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of the server. Raises AnswerTooLongError, also while its body is read."""
        response = await self._inner.handle_async_request(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise AnswerTooLongError
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    """A body of at most `MOST_BYTES`."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MOST_BYTES
        async for piece in self._inner:
            left -= len(piece)
            if left < 0:
                raise AnswerTooLongError
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
