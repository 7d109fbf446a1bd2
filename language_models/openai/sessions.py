"""aiohttp sessions, one for each event loop. Imported with the first request: not every process talks to a provider."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from language_models.per_loop import PerLoop


class LoopSessions(PerLoop[aiohttp.ClientSession]):
    """HTTP sessions by event loop."""

    def __init__(self, url: str, *, headers: Mapping[str, str], connect_timeout: float, is_local: bool) -> None:
        """Sessions for requests to `url`. connect_timeout: seconds. is_local: the server is on this machine."""
        super().__init__(self._session)
        self._url = urlsplit(url)
        self._headers = dict(headers)
        self._timeout = aiohttp.ClientTimeout(total=None, sock_connect=connect_timeout)
        self._is_local = is_local

    def _session(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            headers=self._headers,
            connector=self._connector(),
            timeout=self._timeout,
            # Requests to this machine bypass the proxies that environment variables name.
            trust_env=not self._is_local,
        )

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
