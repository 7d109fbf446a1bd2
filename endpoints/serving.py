"""Serves the WSGI application on one event loop: views in a few threads, watchers of answers on the loop itself."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import orjson
import uvicorn

from chat.upkeep import keep_up
from database.connection import close_store

from .assembly import max_body_bytes
from .request_scope import EXTENSION, AppState
from .streaming import StreamBody
from .wsgi import Scope, answer_of, environ_of

if TYPE_CHECKING:
    from flask import Flask

    from settings import Settings

log = logging.getLogger("anaphora.server")
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

DRAIN_SECONDS = 7.0
_STOP_SECONDS = 9
_BODY_SECONDS = 60.0
_SWITCH_SECONDS = 0.001
_OBJECTS_BETWEEN_COLLECTIONS = 20_000


class BodyError(Exception):
    """A request's body can't be taken. `status` is HTTP's, `code` ours."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Bridge:
    """An ASGI application around the WSGI one.

    A request's body is read on the loop before a thread is taken, so that a slow sender holds none. A streamed answer
    is tailed on the loop; when its watcher goes, the watching ends and the answer goes on.
    """

    def __init__(self, app: Flask, *, threads: int) -> None:
        self._app = app
        self._state: AppState = app.extensions[EXTENSION]
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="view")
        self._drained: asyncio.Task[None] | None = None
        self._upkeep: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection's request, or the server's life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    def begin_drain(self) -> asyncio.Task[None]:
        """Take no new turns, and let the running ones end; the task is done when they have."""
        if self._drained is None:
            self._drained = asyncio.get_running_loop().create_task(self._state.turns.drain(timeout=DRAIN_SECONDS))
        return self._drained

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            event = await receive()
            if event["type"] == "lifespan.startup":
                self._open()
                await send({"type": "lifespan.startup.complete"})
            elif event["type"] == "lifespan.shutdown":
                await self._close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def _open(self) -> None:
        loop = asyncio.get_running_loop()
        self._state.turns.attach(loop)
        self._state.models.start()
        upkeep = keep_up(users_dir=self._state.users_dir, knowledge=self._state.knowledge)
        self._upkeep = loop.create_task(upkeep, name="upkeep")

    async def _close(self) -> None:
        await self.begin_drain()
        if self._upkeep is not None:
            self._upkeep.cancel()
            await asyncio.wait({self._upkeep})
        await self._state.models.aclose()
        self._pool.shutdown(wait=False, cancel_futures=True)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(None, self._state.knowledge.close)
        await loop.run_in_executor(None, close_store, self._state.users_dir)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _read_body(scope, receive)
        except BodyError as error:
            await _refuse(error, send)
            return
        if body is None:
            return
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self._pool, answer_of, self._app.wsgi_app, environ_of(scope, body))
        await send({"type": "http.response.start", "status": answer.status, "headers": answer.headers})
        if isinstance(answer.body, StreamBody):
            await _send_stream(answer.body, receive, send)
        else:
            await send({"type": "http.response.body", "body": answer.body})


class Server(uvicorn.Server):
    """uvicorn, but running answers are brought to their end while their watchers are still connected."""

    def __init__(self, config: uvicorn.Config, bridge: Bridge) -> None:
        super().__init__(config)
        self._bridge = bridge

    async def shutdown(self, sockets: Any = None) -> None:
        """Drain first: uvicorn waits for open responses, and those end with their turns."""
        self._bridge.begin_drain()
        await super().shutdown(sockets=sockets)


def serve(app: Flask, settings: Settings) -> None:
    """Serve `app` on the settings' host and port until SIGTERM or Ctrl-C."""
    _tune_interpreter()
    bridge = Bridge(app, threads=settings.threads)
    log.info("Anaphora is at http://%s:%d/", settings.host, settings.port)
    Server(_config(bridge, settings), bridge).run()


def _tune_interpreter() -> None:
    # The writer lets go of the interpreter at each step of a statement: in a crowd it would wait for it 5 ms each time.
    sys.setswitchinterval(_SWITCH_SECONDS)
    # Looking for cycles after every 700 new objects is a fifth of the time of a long list; what the start has made
    # stays, and is not looked through again.
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 10, 10)


def _config(bridge: Bridge, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        bridge,
        host=settings.host,
        port=settings.port,
        lifespan="on",
        ws="none",
        proxy_headers=False,
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )


async def _read_body(scope: Scope, receive: Receive) -> bytes | None:
    """The whole body; None when the client has gone. Raises BodyError for too much, and for too slow."""
    most = max_body_bytes(scope["path"])
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > most:
        raise BodyError(413, "too_large", "The request is too large.")
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return b"".join([chunk async for chunk in _chunks(receive, most)])
    except TimeoutError:
        raise BodyError(408, "request_timeout", "The request took too long to arrive.") from None
    except ConnectionResetError:
        return None


async def _chunks(receive: Receive, most: int) -> AsyncIterator[bytes]:
    size = 0
    while True:
        event = await receive()
        if event["type"] == "http.disconnect":
            raise ConnectionResetError
        chunk: bytes = event.get("body", b"")
        size += len(chunk)
        if size > most:
            raise BodyError(413, "too_large", "The request is too large.")
        yield chunk
        if not event.get("more_body", False):
            return


async def _send_stream(body: StreamBody, receive: Receive, send: Send) -> None:
    sending = asyncio.ensure_future(_tail(body, send))
    gone = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({sending, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, gone):
            if not task.done():
                task.cancel()
        with suppress(asyncio.CancelledError):
            await gone
    with suppress(asyncio.CancelledError):
        await sending


async def _tail(body: StreamBody, send: Send) -> None:
    async for chunk in body.tail():
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _refuse(error: BodyError, send: Send) -> None:
    body = orjson.dumps({"status": "error", "code": error.code, "message": str(error)})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-content-type-options", b"nosniff"),
        # The rest of the body is not wanted.
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
