"""aiohttp sessions, one for each event loop. Imported with the first request: not every process talks to a provider."""

from __future__ import annotations

import asyncio
import ipaddress
import threading
from collections.abc import AsyncGenerator, Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp

_Session = AsyncGenerator[aiohttp.ClientSession, None]


class LoopSessions:
    """HTTP sessions by event loop: the server has one loop, scripts and tests start and end theirs."""

    def __init__(self, url: str, *, headers: Mapping[str, str], connect_timeout: float, is_local: bool) -> None:
        """Sessions for requests to `url`. connect_timeout: seconds. is_local: the server is on this machine."""
        self._url = urlsplit(url)
        self._headers = dict(headers)
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout)
        self._is_local = is_local
        self._lock = threading.Lock()
        self._open: dict[asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, _Session]] = {}

    async def current(self) -> aiohttp.ClientSession:
        """The running loop's session."""
        loop = asyncio.get_running_loop()
        session, _ = self._open.get(loop, (None, None))
        if session is None or session.closed:
            generator = self._opened(loop)
            session = await anext(generator)
            with self._lock:
                self._open[loop] = (session, generator)
        return session

    async def aclose(self) -> None:
        """Close every session, each on its own loop."""
        here = asyncio.get_running_loop()
        with self._lock:
            generators = [(loop, generator) for loop, (_, generator) in self._open.items()]
            self._open.clear()
        for loop, generator in generators:
            if loop is here:
                await generator.aclose()
            elif not loop.is_closed():
                asyncio.run_coroutine_threadsafe(_closed(generator), loop)

    async def _opened(self, loop: asyncio.AbstractEventLoop) -> _Session:
        """Yield an open session, and close it when the generator ends.

        A loop ends its asynchronous generators when it shuts down, so no session outlives its loop.
        """
        session = aiohttp.ClientSession(
            headers=self._headers,
            connector=self._connector(),
            timeout=self._timeout,
            # Requests to this machine bypass the proxies that environment variables name.
            trust_env=not self._is_local,
        )
        try:
            yield session
        finally:
            with self._lock:
                self._open.pop(loop, None)
            await session.close()

    def _connector(self) -> aiohttp.BaseConnector:
        if not self._is_local:
            return aiohttp.TCPConnector(limit=0)
        # Small local servers often close a connection just when it is used again, and a new one costs little.
        is_address = _is_address(self._url.hostname or "") and self._url.scheme == "http"
        return (AddressConnector if is_address else aiohttp.TCPConnector)(limit=0, force_close=True)


class AddressConnector(aiohttp.BaseConnector):
    """Connects to an IP address without TLS.

    It needs no name lookup and no race of several addresses, which take half of aiohttp's CPU time of a connection.
    """

    allowed_protocol_schema_set = frozenset({"http"})

    async def _create_connection(self, req: Any, traces: Any, timeout: Any) -> Any:  # noqa: ASYNC109 - aiohttp's
        del traces
        try:
            async with asyncio.timeout(timeout.sock_connect):
                _, protocol = await self._loop.create_connection(self._factory, req.url.host, req.url.port)
        except OSError as error:  # a timeout too
            raise aiohttp.ClientConnectorError(req.connection_key, error) from error
        return protocol


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _closed(generator: _Session) -> None:
    await generator.aclose()
