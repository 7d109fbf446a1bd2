"""An aiohttp application on a port of this machine, of which no connection is left over."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

_TURNS = 4
"""Turns of the loop until a connection that the system has accepted is made, or one that was aborted is closed."""


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[int]:
    """The port of 127.0.0.1 at which `app` is served on the running loop for the block."""
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    server = runner.server
    assert server is not None
    transports = list[asyncio.Transport]()
    made = server.connection_made

    def connection_made(handler: Any, transport: asyncio.Transport) -> None:
        transports.append(transport)
        made(handler, transport)

    server.connection_made = connection_made  # type: ignore[method-assign]
    listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        await _stop_accepting(listening)
        await _go_round()
        await runner.cleanup()
        for transport in transports:
            transport.abort()  # a client that does not read would keep it open
        await _go_round()


async def _go_round() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0)


async def _stop_accepting(server: asyncio.Server) -> None:
    """Close the listening sockets; a connection that was accepted a moment ago is still served.

    `Server.close` alone drops the connections whose transports are not made yet: CPython issue 109564.
    """
    loop = asyncio.get_running_loop()
    for listening in server.sockets:
        loop.remove_reader(listening.fileno())
    await asyncio.sleep(0)
    server.close()
