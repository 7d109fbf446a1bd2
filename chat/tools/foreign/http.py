"""The connection to a foreign MCP server over HTTP, which answers with little and leads nowhere else.

`httpx2` is imported here, so this module is imported by the first call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Literal

import httpx2

from .addresses import AddressRefusedError, Reach, checked_address
from .configuration import ForeignServer

MOST_BYTES = 4 * 1024 * 1024
"""The longest body of one response."""
_GOODBYE_SECONDS = 2.0
Trouble = Literal["address_refused", "unreachable", "unauthorized"]


class AnswerTooLongError(Exception):
    """The server's response is longer than `MOST_BYTES`, or compressed, although we ask for plain ones."""


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Ends responses that are too long or too late, and connects to checked addresses alone.

    reach: where to; None: anywhere. seconds: how long all requests together may take, but for a short goodbye.
    trouble: what was wrong with the last request that failed, where that can be told.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, *, reach: Reach | None, seconds: float) -> None:
        self._inner = inner
        self._reach = reach
        self._deadline = asyncio.get_running_loop().time() + seconds + _GOODBYE_SECONDS
        self.trouble: Trouble | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The response of the server. Raises AnswerTooLongError, also while its body is read, and TimeoutError."""
        # The library ends its session with a DELETE; that a server lets it wait is no reason to wait.
        now = asyncio.get_running_loop().time()
        deadline = min(self._deadline, now + _GOODBYE_SECONDS) if request.method == "DELETE" else self._deadline
        async with asyncio.timeout_at(deadline):
            response = await self._answered(request)
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            raise AnswerTooLongError
        if response.status_code in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            self.trouble = "unauthorized"
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _BoundedStream(response.stream, deadline=deadline)
        return response

    async def _answered(self, request: httpx2.Request) -> httpx2.Response:
        try:
            return await self._inner.handle_async_request(await self._pinned(request))
        except AddressRefusedError:
            self.trouble = "address_refused"
            raise
        except (OSError, httpx2.ConnectError, httpx2.ConnectTimeout):
            self.trouble = "unreachable"
            raise

    async def _pinned(self, request: httpx2.Request) -> httpx2.Request:
        """The request to the checked address in the place of the name, which the certificate still has to hold."""
        url = request.url
        if self._reach is None:
            return request
        port = url.port or (443 if url.scheme == "https" else 80)
        address = await checked_address(url.host, port, scheme=url.scheme, reach=self._reach)
        return httpx2.Request(
            request.method,
            url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": url.host},
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


def client_for(server: ForeignServer, transport: GuardedTransport) -> httpx2.AsyncClient:
    """A client for the requests of one call, with the server's headers; nothing of our environment goes into them."""
    # It logs the address of each request.
    logging.getLogger("httpx2").setLevel(logging.CRITICAL)
    logging.getLogger("httpcore2").setLevel(logging.CRITICAL)
    return httpx2.AsyncClient(
        transport=transport,
        headers={**server.headers, "Accept-Encoding": "identity"},
        timeout=None,  # the transport ends each request at the deadline of the call
        trust_env=False,
    )


def transport_for(server: ForeignServer, reach: Reach | None) -> GuardedTransport:
    """The connections of one call."""
    return GuardedTransport(httpx2.AsyncHTTPTransport(trust_env=False), reach=reach, seconds=server.seconds)


class _BoundedStream(httpx2.AsyncByteStream):
    """A body of at most `MOST_BYTES`, which is read until the deadline."""

    def __init__(self, inner: httpx2.AsyncByteStream, *, deadline: float) -> None:
        self._inner = inner
        self._deadline = deadline

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left, pieces = MOST_BYTES, aiter(self._inner)
        while True:
            async with asyncio.timeout_at(self._deadline):
                piece = await anext(pieces, None)
            if piece is None:
                return
            left -= len(piece)
            if left < 0:
                raise AnswerTooLongError
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()
