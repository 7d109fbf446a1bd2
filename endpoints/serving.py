"""Serves the WSGI application on one event loop: views in a few threads, watchers of answers on the loop itself."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import uvicorn

from chat.upkeep import keep_up
from database.connection import close_store

from .assembly import MAX_STRANGERS_BYTES, max_body_bytes
from .error_answers import refusing
from .errors import RequestError, TooLargeError, UnauthorizedError
from .guards import asked_by_anybody, shows_credentials
from .request_bodies import Receive, RequestBody, Send
from .request_scope import EXTENSION, AppState
from .streaming import StreamBody
from .wsgi import Answer, Scope, WsgiApp, answer_of, environ_of

if TYPE_CHECKING:
    from flask import Flask

    from settings import Settings

log = logging.getLogger("anaphora.server")

DRAIN_SECONDS = 7.0
_STOP_SECONDS = 9
_SWITCH_SECONDS = 0.001
_OBJECTS_BETWEEN_COLLECTIONS = 20_000


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
        upkeep = keep_up(
            users_dir=self._state.users_dir,
            knowledge=self._state.knowledge,
            erase_closed_accounts=self._state.account_erasure.erase_closed,
        )
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
        body = RequestBody(receive, declared=_declared_length(scope))
        try:
            content = await self._read(body, scope)
        except RequestError as error:
            await self._refuse(error, scope, body, send)
        except ConnectionResetError:
            return
        else:
            answer = await self._ask(self._app.wsgi_app, scope, content)
            await _start(answer, send)
            if isinstance(answer.body, StreamBody):
                await _send_stream(answer.body, receive, send)
            else:
                await send({"type": "http.response.body", "body": answer.body})

    async def _read(self, body: RequestBody, scope: Scope) -> bytes:
        """The body; who shows nothing to prove who asks is sent to sign in before more than a form is kept of it."""
        most = max_body_bytes(scope["path"])
        if shows_credentials(scope["headers"]):
            return await body.read(most=most)
        try:
            return await body.read(most=min(most, MAX_STRANGERS_BYTES))
        except TooLargeError:
            if asked_by_anybody(self._app, path=scope["path"], method=scope["method"]):
                raise
            raise UnauthorizedError from None

    async def _refuse(self, error: RequestError, scope: Scope, body: RequestBody, send: Send) -> None:
        """Answer at once, but end the connection only when the client had a chance to read that."""
        answer = await self._ask(refusing(self._app, error), scope, b"")
        await _start(answer, send, closes=True)
        await send({"type": "http.response.body", "body": answer.body, "more_body": True})
        if isinstance(error, TooLargeError | UnauthorizedError):
            await body.discard()
        await send({"type": "http.response.body", "body": b""})

    async def _ask(self, app: WsgiApp, scope: Scope, content: bytes) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._pool, answer_of, app, environ_of(scope, content))


class Server(uvicorn.Server):
    """uvicorn, but running answers are brought to their end while their watchers are still connected."""

    def __init__(self, config: uvicorn.Config, bridge: Bridge) -> None:
        super().__init__(config)
        self._bridge = bridge

    async def startup(self, sockets: Any = None) -> None:
        """Tell the address when it is ours: where the port is taken, uvicorn ends the process in here."""
        await super().startup(sockets=sockets)
        log.info("Anaphora is at http://%s:%d/", self.config.host, self.config.port)

    async def shutdown(self, sockets: Any = None) -> None:
        """Drain first: uvicorn waits for open responses, and those end with their turns."""
        self._bridge.begin_drain()
        await super().shutdown(sockets=sockets)


def serve(app: Flask, settings: Settings) -> None:
    """Serve `app` on the settings' host and port until SIGTERM or Ctrl-C."""
    _tune_interpreter()
    bridge = Bridge(app, threads=settings.threads)
    Server(configure(bridge, settings), bridge).run()


def _tune_interpreter() -> None:
    # The writer lets go of the interpreter at each step of a statement: in a crowd it would wait for it 5 ms each time.
    sys.setswitchinterval(_SWITCH_SECONDS)
    # Looking for cycles after every 700 new objects is a fifth of the time of a long list; what the start has made
    # stays, and is not looked through again.
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 10, 10)


def configure(bridge: Bridge, settings: Settings) -> uvicorn.Config:
    """How uvicorn serves `bridge`: where, and how long it waits for the end."""
    return uvicorn.Config(
        bridge,
        host=settings.host,
        port=settings.port,
        lifespan="on",
        ws="none",
        # Of the addresses it was forwarded for, the last one that is no trusted proxy's asks.
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=list(settings.trusted_proxies),
        server_header=False,
        access_log=False,
        log_config=None,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )


def _declared_length(scope: Scope) -> int | None:
    declared: bytes = dict(scope["headers"]).get(b"content-length", b"")
    return int(declared) if declared.isdigit() else None


async def _start(answer: Answer, send: Send, *, closes: bool = False) -> None:
    headers = [*answer.headers, (b"connection", b"close")] if closes else answer.headers
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})


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
