"""Serving the WSGI application on one event loop: views in thread pools, streams on the loop itself."""

from __future__ import annotations

import asyncio
import errno
import gc
import logging
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import uvicorn

import tracing
from attachments.errors import AttachmentError
from chat.processes.shared_places import SharedPlaces
from chat.processes.supervisor import bound, http_address, serve_by_line
from chat.runtime.large_pages import settle_memory
from database.accounts.throttle import network_of
from database.connection import close_store
from database.engine.errors import StoreError
from endpoints.http.assets import static_version_of
from endpoints.http.error_responses import refusing
from endpoints.http.errors import (
    DiskFullError,
    RequestError,
    RequestTooSlowError,
    ServerBusyError,
    TooLargeError,
    UnauthorizedError,
    file_too_large,
)
from endpoints.http.guards import Views, is_public, shows_credentials, who_asks
from endpoints.http.scope import EXTENSION, AppState
from endpoints.http.streams import StreamBody
from endpoints.http.validation import UploadQuota
from endpoints.http.wsgi import ROUTE, UPLOAD, UPLOAD_NAME, Answer, Route, Scope, answer_of, environ_of
from endpoints.operations.health import answer_on_loop
from version import program

from .bodies import (
    STRANGERS_BYTES,
    STRANGERS_SECONDS,
    ArrivingUploads,
    BodyMemory,
    Receive,
    RequestBody,
    Send,
    UploadRoom,
    max_body_bytes,
)
from .connections import BEGAN_AT, Connection, Connections, within_file_limit
from .open_streams import OpenStreams
from .work_queues import Work, pools, work_of_call

if TYPE_CHECKING:
    import socket
    from types import FrameType

    from flask import Flask

    from chat.processes.supervisor import Inherited
    from settings import Settings


log = logging.getLogger("anaphora.server")

DRAIN_SECONDS = 7.0
"""How long turns may go on in a process that stops; after SIGTERM it may be told to give them longer."""
LEAVE_SECONDS = 300.0
"""How long turns may go on in a process whose successor serves already."""
_STOP_SECONDS = 9
_LINGER_SECONDS = 1.0
_LONGEST_LINGER_SECONDS = 10.0
_LINGER_STEP = 0.05
_MEGABYTE = 1024 * 1024
# `Connection` closes idle connections; uvicorn would cut off a response that a client reads slowly.
_KEPT_ALIVE_SECONDS = 24 * 3600
_SWITCH_SECONDS = 0.0005
_OBJECTS_BETWEEN_COLLECTIONS = 20_000
OF_STRANGERS = frozenset({Work.SHORT, Work.PASSWORD, Work.PROVIDER})
"""What people may ask for who have not logged in. An address is the client, so it leaves a thread to the others."""


class Bridge:
    """An ASGI application around the WSGI one.

    A request's body is read on the loop before a thread is used, so that a slow client occupies none. A streamed answer
    is sent from the loop; when its watcher disconnects, only the watching ends, not the answer.
    """

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._views = Views(app)
        self._state: AppState = app.extensions[EXTENSION]
        settings = self._state.settings
        broker = self._state.broker
        self._places = None if broker is None else SharedPlaces(broker)
        self._pools = work = pools(settings, shared=self._places)
        self._state.metrics.read("work_running", lambda: {(kind,): pool.running for kind, pool in work.items()})
        self._state.metrics.read("work_waiting", lambda: {(kind,): pool.waiting for kind, pool in work.items()})
        self._arriving = ArrivingUploads()
        self._memory = BodyMemory(settings.body_memory * _MEGABYTE)
        self.connections = Connections(
            most=within_file_limit(settings.connections),
            of_address=settings.connections_of_address,
            trusted=settings.trusted_proxies,
            version=static_version_of(app),
        )
        self._streams = OpenStreams(self._state.database)
        self._drained: asyncio.Task[None] | None = None
        self.leaves = False
        self._drain_seconds = DRAIN_SECONDS
        self._unanswered = 0
        self._beside: list[asyncio.Task[None]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection's request, or the server's life."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._answer(scope, receive, send)

    def turns_running(self) -> int:
        """How many turns are being accepted or answered."""
        return self._state.turns.running()

    def begin_drain(self) -> asyncio.Task[None]:
        """Accept no new turns, and let the running ones end; the task completes when they have."""
        if self._drained is None:
            self._state.changes.close()
            drain = self._state.turns.drain(timeout=self._drain_seconds)
            self._drained = asyncio.get_running_loop().create_task(drain)
        return self._drained

    def leave(self, seconds: float) -> None:
        """Let turns go on for so long, since others serve: open connections end with the answer of their request."""
        self.leaves, self._drain_seconds = True, seconds

    def hurry(self) -> None:
        """Let turns end within `DRAIN_SECONDS` from now on, although the process had more time to leave."""
        self.leaves, self._drain_seconds = False, DRAIN_SECONDS
        self._beside.append(asyncio.get_running_loop().create_task(self._state.turns.drain(timeout=DRAIN_SECONDS)))

    async def linger(self) -> None:
        """Answer the requests that are here or come soon on open connections, each of which ends with its answer."""
        for step in range(round(_LONGEST_LINGER_SECONDS / _LINGER_STEP)):
            if step * _LINGER_STEP >= _LINGER_SECONDS and not self._unanswered:
                return
            await asyncio.sleep(_LINGER_STEP)

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
        if self._state.broker is not None:
            self._state.broker.begin()
        self._beside = [
            loop.create_task(self._state.server.keep_up(), name="upkeep"),
            loop.create_task(self.connections.watch(), name="connections"),
            loop.create_task(self._streams.watch(), name="open streams"),
        ]

    async def _close(self) -> None:
        await self.begin_drain()
        for task in self._beside:
            task.cancel()
        await asyncio.gather(*self._beside, return_exceptions=True)
        await self._state.models.aclose()
        for pool in self._pools.values():
            pool.shutdown()
        if self._places is not None:
            self._places.close()
        loop = asyncio.get_running_loop()
        if self._state.broker is not None:
            await loop.run_in_executor(None, self._state.broker.close)
        await loop.run_in_executor(None, self._state.knowledge.close)
        await loop.run_in_executor(None, close_store, self._state.settings.users_dir)
        await loop.run_in_executor(None, tracing.end)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = answer_on_loop(scope, self._state, version=self.connections.version)
        body, content = _body(scope, receive, self._memory), b""
        self._unanswered += 1
        try:
            if answer is None:
                route = self._views.route(path=scope["path"], method=scope["method"])
                if (most := self._upload_limit(route)) is not None:
                    answer = await self._ask_with_upload(scope, route, body, receive, most=most)
                else:
                    content = await self._read(body, scope)
                    answer = await self._ask(scope, route, content, receive)
        except (RequestError, StoreError, AttachmentError) as error:
            await self._refuse(error, scope, body, send, content=content)
        except ConnectionResetError:
            return
        finally:
            self._unanswered -= 1
            body.release()
        if answer is not None:
            await _start(answer, send, closes=self.leaves)
            if isinstance(answer.body, StreamBody):
                settle_memory()  # what answers need is imported with the first one
                await self._streams.send(answer.body, send, gone=partial(_disconnected, receive))
            else:
                await send({"type": "http.response.body", "body": answer.body})

    async def _read(self, body: RequestBody, scope: Scope) -> bytes:
        """The body. Credentials are verified before it exceeds the limits of unauthenticated requests.

        Raises TooLargeError, RequestTooSlowError, UnauthorizedError, ServerBusyError, ConnectionResetError.
        """
        most = max_body_bytes(scope["path"])
        room = min(most, max(STRANGERS_BYTES - _head_size(scope), 0))
        began_at = scope.get(BEGAN_AT, asyncio.get_running_loop().time())
        person = await self._person(scope, gone=_never) if body.may_exceed(room) else None
        if person is not None:
            return await body.read_of_person(person, most=most)
        try:
            return await body.read_of_stranger(most=room, until=began_at + STRANGERS_SECONDS)
        except RequestTooSlowError:
            person = await self._person(scope, gone=_never)
            if person is None:
                raise
            return await body.read_of_person(person, most=most)
        except TooLargeError:
            if is_public(self._views.at(path=scope["path"], method=scope["method"])):
                raise
            raise UnauthorizedError from None

    def _upload_limit(self, route: Route | None) -> int | None:
        """How many bytes the file may have that a request uploads; None for a request that uploads none."""
        most = None if route is None else getattr(self._views.of(route), "takes_upload", None)
        return None if most is None else int(most(self._state.settings))

    async def _ask_with_upload(
        self, scope: Scope, route: Route | None, body: RequestBody, receive: Receive, *, most: int
    ) -> Answer:
        """The answer of a view that takes a file, which is written while it arrives. Raises as `_read` and `_ask`."""
        person = await self._person(scope, gone=_never)
        if person is None:
            raise UnauthorizedError
        view = None if route is None else self._views.of(route)
        room = await self._room(view, person)
        with self._state.attachments.receiving() as path:
            try:
                with self._arriving.within(room, body, person=person, most=most) as allowed:
                    media = _media_type(scope) if getattr(view, "takes_form_upload", False) else None
                    name = await body.write_upload(person, path, media, most=allowed)
            except TooLargeError:
                raise file_too_large(most) from None
            except OSError as error:
                if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                    raise DiskFullError from None
                raise
            return await self._ask(scope, route, b"", receive, upload=path, name=name)

    async def _room(self, view: Callable[..., Any] | None, person: str) -> UploadRoom | None:
        """What `person` may upload to `view` now; None where the view has no quota."""
        quota: UploadQuota | None = getattr(view, "upload_quota", None)
        if quota is None:
            return None
        size = await self._pools[Work.SHORT].run(partial(quota.room, self._state, person), client=person, gone=_never)
        return UploadRoom(size, partial(quota.error, self._state))

    async def _ask(
        self,
        scope: Scope,
        route: Route | None,
        content: bytes,
        receive: Receive,
        *,
        upload: Path | None = None,
        name: str | None = None,
    ) -> Answer:
        """The view's answer. upload: where the body was written instead. name: of the file, where a form says it.

        Raises ServerBusyError, RateLimitedError, and ConnectionResetError for a client that disconnected while queued.
        """
        view, arguments = (None, {}) if route is None else (self._views.of(route), route[1])
        kind = work_of_call(view, scope["query_string"], content, arguments=arguments, tools=self._state.tools)
        client: str | None = _address(scope)
        gone = partial(_disconnected, receive)
        if kind not in OF_STRANGERS:
            client = await self._person(scope, gone=gone)
        if client is None:
            kind, client = Work.SHORT, _address(scope)  # the guards send those away who have not logged in
        environ = environ_of(scope, content)
        if route is not None:
            environ[ROUTE] = route
        if upload is not None:
            environ[UPLOAD] = upload
        if name is not None:
            environ[UPLOAD_NAME] = name
        work = partial(answer_of, self._app.wsgi_app, environ)
        return await self._pools[kind].run(work, client=client, gone=gone)

    async def _person(self, scope: Scope, *, gone: Callable[[], Awaitable[object]]) -> str | None:
        """The e-mail address of the caller; None without valid credentials."""
        if not shows_credentials(scope["headers"]):
            return None
        work = partial(who_asks, self._state.database, scope["headers"])
        access = await self._pools[Work.SHORT].run(work, client=_address(scope), gone=gone)
        return None if access is None else access.user_email

    async def _refuse(self, error: Exception, scope: Scope, body: RequestBody, send: Send, *, content: bytes) -> None:
        """Respond at once, but close the connection only after the client had a chance to read the response.

        content: the body as far as it was read, to render a form again with its fields.
        """
        closes = not body.ended
        answer = await self._refusal(error, scope, content)
        await _start(answer, send, closes=closes)
        await send({"type": "http.response.body", "body": answer.body, "more_body": True})
        if closes and not isinstance(error, RequestTooSlowError):
            await body.discard()
        await send({"type": "http.response.body", "body": b""})

    async def _refusal(self, error: Exception, scope: Scope, content: bytes) -> Answer:
        work = partial(answer_of, refusing(self._app, error), environ_of(scope, content))
        try:
            return await self._pools[Work.SHORT].run(work, client=_address(scope), gone=_never)
        except ServerBusyError:
            return work()  # no thread is free, and the client is not to wait for one


class Server(uvicorn.Server):
    """uvicorn, draining running answers while their watchers are still connected.

    line: to the supervisor of several processes, which has bound the sockets and announces the address. drain_seconds:
    how long turns may go on after SIGTERM.
    """

    def __init__(
        self,
        config: uvicorn.Config,
        bridge: Bridge,
        *,
        line: socket.socket | None = None,
        drain_seconds: float = DRAIN_SECONDS,
    ) -> None:
        super().__init__(config)
        self._bridge = bridge
        self._line = line
        self._drain_seconds = drain_seconds
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: Any = None) -> None:
        """Log the address once it is bound: if the port is taken, uvicorn exits here."""
        await super().startup(sockets=sockets)
        self._loop = asyncio.get_running_loop()
        if self._line is None:
            log.info("%s is at %s", program(), http_address(self.config.host, self.config.port))
            return
        heard = serve_by_line(self._line, leave=partial(self._leave, LEAVE_SECONDS), stop=self._stop)
        self._loop.add_reader(self._line.fileno(), heard)

    async def shutdown(self, sockets: Any = None) -> None:
        """Drain first: uvicorn waits for open responses, and those end with their turns."""
        if self._line is not None:
            asyncio.get_running_loop().remove_reader(self._line.fileno())
        if self._bridge.leaves:
            for server in self.servers:
                server.close()
            await self._bridge.linger()
        if self._line is None:
            log.info("stopping; %d answers are being written", self._bridge.turns_running())
        self._bridge.begin_drain()
        await super().shutdown(sockets=sockets)
        if self._line is None:
            log.info("stopped")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """SIGTERM may leave turns longer than Ctrl+C does; a process that has been leaving for a while hurries."""
        if self._bridge.leaves and self._loop is not None:
            self._loop.call_soon_threadsafe(self._bridge.hurry)
        elif sig == signal.SIGTERM and not self.should_exit and self._drain_seconds > DRAIN_SECONDS:
            self._leave(self._drain_seconds)
        super().handle_exit(sig, frame)

    def _leave(self, seconds: float) -> None:
        """Others serve: accept no connection, but let turns go on to their end, for so long at most."""
        self._bridge.leave(seconds)
        self.config.timeout_graceful_shutdown = round(seconds) + _STOP_SECONDS
        self.should_exit = True

    def _stop(self) -> None:
        """The supervisor is gone."""
        self.should_exit = True


def serve(app: Flask, settings: Settings, inherited: Inherited | None = None) -> None:
    """Serve `app` until SIGTERM or Ctrl-C. inherited: from the supervisor. Raises OSError where the port is taken."""
    sockets = inherited.sockets if inherited else bound(settings.host, settings.port)
    tune_interpreter()
    bridge = Bridge(app)
    config = configure(bridge, settings)
    line = inherited.line if inherited else None
    server = Server(config, bridge, line=line, drain_seconds=settings.drain_seconds)
    hangup = getattr(signal, "SIGHUP", None)  # a service manager reloads, or a terminal is closed; `nohup` stands
    if inherited is None and hangup is not None and signal.getsignal(hangup) is signal.SIG_DFL:
        signal.signal(hangup, lambda *_: server.handle_exit(signal.SIGTERM, None))
    server.run(sockets=sockets)


def tune_interpreter() -> None:
    """Set how threads and the garbage collector of this process work, for one that answers requests."""
    # The writer lets go of the interpreter at each step of a statement, and a request at each change of threads: beside
    # a thread that computes (an import) it would wait for it 5 ms each time.
    sys.setswitchinterval(_SWITCH_SECONDS)
    # Looking for cycles after every 700 new objects is a fifth of the time of a long list; what the start has made
    # stays, and is not looked through again.
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS, 10, 10)


def configure(bridge: Bridge, settings: Settings) -> uvicorn.Config:
    """How uvicorn serves `bridge`: where, and how long it waits for the end."""
    return uvicorn.Config(
        bridge,
        http=cast("Any", partial(Connection, connections=bridge.connections)),
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
        timeout_keep_alive=_KEPT_ALIVE_SECONDS,
    )


def _body(scope: Scope, receive: Receive, memory: BodyMemory) -> RequestBody:
    headers = dict(scope["headers"])
    declared: bytes = headers.get(b"content-length", b"")
    length = int(declared) if declared.isdigit() else None
    return RequestBody(receive, declared=length, chunked=b"transfer-encoding" in headers, memory=memory)


def _head_size(scope: Scope) -> int:
    size = len(scope["path"]) + len(scope["query_string"])
    for name, value in scope["headers"]:
        size += len(name) + len(value)
    return size


def _address(scope: Scope) -> str:
    """The client's address, or its IPv6 network, whose addresses all belong to one client."""
    client = scope.get("client")
    return network_of(str(client[0])) if client else ""


def _media_type(scope: Scope) -> str:
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"content-type"), "")


async def _start(answer: Answer, send: Send, *, closes: bool = False) -> None:
    headers = [*answer.headers, (b"connection", b"close")] if closes else answer.headers
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})


async def _never() -> None:
    """Before the body is read, a disconnect can't be detected: receiving would consume parts of the body."""
    await asyncio.Event().wait()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
