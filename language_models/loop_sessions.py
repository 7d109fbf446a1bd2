"""One HTTP session for each event loop that asks, made when first needed and closed with its loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp

_Keeper = AsyncGenerator["aiohttp.ClientSession", None]


class LoopSessions:
    """HTTP sessions by event loop: the server has one loop, scripts and tests come and go with theirs."""

    def __init__(self, *, headers: Mapping[str, str], connect_timeout: float, loopback: bool) -> None:
        """`connect_timeout` in seconds; `loopback`: the other end is on this machine."""
        self._headers = dict(headers)
        self._connect_timeout = connect_timeout
        self._loopback = loopback
        self._lock = threading.Lock()
        self._open: dict[asyncio.AbstractEventLoop, tuple[aiohttp.ClientSession, _Keeper]] = {}

    async def current(self) -> aiohttp.ClientSession:
        """The running loop's session."""
        loop = asyncio.get_running_loop()
        session, _ = self._open.get(loop, (None, None))
        if session is None or session.closed:
            keeper = self._kept(loop)
            session = await anext(keeper)
            with self._lock:
                self._open[loop] = (session, keeper)
        return session

    async def aclose(self) -> None:
        """Close every session, each on its own loop."""
        here = asyncio.get_running_loop()
        with self._lock:
            kept = list(self._open.items())
            self._open.clear()
        for loop, (_, keeper) in kept:
            if loop is here:
                await keeper.aclose()
            elif not loop.is_closed():
                asyncio.run_coroutine_threadsafe(_ended(keeper), loop)

    async def _kept(self, loop: asyncio.AbstractEventLoop) -> _Keeper:
        """Yield an open session and close it when the generator ends.

        A loop that shuts down ends the generators that it began: so no session outlives its loop.
        """
        # Imported here: a process that talks to no provider does not pay for it.
        import aiohttp

        # Small local servers end connections just when they are used again, and a new one costs next to nothing there;
        # nor may one of the environment's proxies stand between.
        session = aiohttp.ClientSession(
            headers=self._headers,
            connector=aiohttp.TCPConnector(limit=0, force_close=self._loopback),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout),
            trust_env=not self._loopback,
        )
        try:
            yield session
        finally:
            with self._lock:
                self._open.pop(loop, None)
            await session.close()


async def _ended(keeper: _Keeper) -> None:
    await keeper.aclose()
