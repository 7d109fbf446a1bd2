"""Sending streams from the loop: one of events ends soon after the session or token that opened it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

import tracing
from chat.processes.threads import in_thread
from database.engine.database import Database
from database.engine.errors import StoreError
from endpoints.http.guards import still_valid
from endpoints.http.scope import Access
from endpoints.http.streams import StreamBody

from .bodies import Send

log = logging.getLogger("anaphora.server")
LOOK_SECONDS = 2.0


class OpenStreams:
    """Looks every LOOK_SECONDS which sessions and tokens have ended, by one statement for all streams of the server.

    A stream itself is asked nothing as it is sent. Used on the server's loop alone.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._open: dict[Access, set[asyncio.Future[None]]] = {}

    async def send(self, body: StreamBody, send: Send, *, gone: Callable[[], Awaitable[object]]) -> None:
        """Send `body` until it ends, its session or token does, or the client is `gone`."""
        sending = asyncio.ensure_future(_tail(body, send))
        leaving = asyncio.ensure_future(gone())
        try:
            with self._opened(body.access) as ended:
                await _first_of(sending, leaving, ended)
                if ended.done() and not sending.done():
                    await _stopped(sending)
                    sending = asyncio.ensure_future(_end(body, send))
                    await _first_of(sending, leaving)
        finally:
            for task in (sending, leaving):
                if not task.done():
                    task.cancel()
            with suppress(asyncio.CancelledError):
                await leaving
        with suppress(asyncio.CancelledError):
            await sending

    @contextmanager
    def _opened(self, access: Access | None) -> Iterator[asyncio.Future[None]]:
        """Within the block, a future that is done once this session or token has ended; None: there is none to end."""
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if access is None:
            yield ended
            return
        self._open.setdefault(access, set()).add(ended)
        try:
            yield ended
        finally:
            streams = self._open[access]
            streams.discard(ended)
            if not streams:
                del self._open[access]

    async def watch(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except StoreError as error:
                log.warning("the sessions of open streams can't be looked at: %s", error.message)

    async def look(self) -> None:
        """End the streams whose sessions or tokens have ended. Raises StoreError."""
        watched = set(self._open)
        if not watched:
            return
        valid = await in_thread(partial(still_valid, self._database, watched))
        for access in watched - valid:
            for ended in self._open.get(access, ()):
                if not ended.done():
                    ended.set_result(None)


async def _tail(body: StreamBody, send: Send) -> None:
    tracing.began_by.set(body.request_id)  # of this task alone
    async for chunk in body.tail():
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
        body.note_sent(chunk)
    await send({"type": "http.response.body", "body": b""})


async def _end(body: StreamBody, send: Send) -> None:
    await send({"type": "http.response.body", "body": body.signed_out()})


async def _first_of(*awaited: asyncio.Future[Any]) -> None:
    await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)


async def _stopped(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})
