"""The one HTTP client behind every provider: streams of events, JSON answers, typed failures."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import threading
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from language_models.errors import ModelFailedError, ModelUnavailableError
from language_models.openai.wire import AttemptFailedError, refusal

if TYPE_CHECKING:
    import aiohttp


_LONGEST_ERROR_BODY = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds to wait: for the connection, for the first word of an answer, between two words, for a short answer.

    A model may think for minutes before its first word. Whatever the provider sends meanwhile begins the time anew.
    """

    connect: float = 10.0
    first_token: float = 600.0
    idle: float = 120.0
    answer: float = 60.0


class ProviderHttp:
    """Requests to one provider with one key."""

    def __init__(self, *, base_url: str, api_key: str | None, model: str, timeouts: Timeouts) -> None:
        """`base_url` is what `/chat/completions` is appended to; nothing is opened yet."""
        self._base_url = base_url.rstrip("/")
        self._model = model
        self._timeouts = timeouts
        # Compressed streams are held back until a block is full, and cost CPU.
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "Anaphora"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._sessions = LoopSessions(headers=headers, connect_timeout=timeouts.connect, loopback=is_loopback(base_url))

    async def open_stream(self, path: str, body: Mapping[str, Any]) -> EventStream:
        """Send a request; its answer has begun when `has_begun` says so. Raises AttemptFailedError."""
        import aiohttp

        try:
            async with asyncio.timeout(self._timeouts.first_token):
                response = await self._post(path, body)
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreachable(error) from error
        return EventStream(response, model=self._model, timeouts=self._timeouts)

    async def has_begun(self, stream: EventStream) -> bool:
        """Wait for the next sign of life: True for an event, or the end; False for a comment, after which to ask again.

        A failure before the first event closes the stream and can still be retried. Raises AttemptFailedError.
        """
        import aiohttp

        try:
            async with asyncio.timeout(self._timeouts.first_token):
                return await stream.read_first()
        except BaseException as error:
            stream.close()
            if isinstance(error, aiohttp.ClientError | OSError):
                raise self._unreachable(error) from error
            raise

    async def get_json(self, path: str) -> Any:
        """The JSON answer to a GET. Raises AttemptFailedError."""
        return await self._json("GET", path, None)

    async def post_json(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON answer to a POST. Raises AttemptFailedError."""
        return await self._json("POST", path, orjson.dumps(body))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._sessions.aclose()

    async def _post(self, path: str, body: Mapping[str, Any]) -> aiohttp.ClientResponse:
        session = await self._sessions.current()
        response = await session.post(self._base_url + path, data=orjson.dumps(body), allow_redirects=False)
        await self._check(response)
        return response

    async def _json(self, method: str, path: str, data: bytes | None) -> Any:
        import aiohttp

        try:
            session = await self._sessions.current()
            async with (
                asyncio.timeout(self._timeouts.answer),
                session.request(method, self._base_url + path, data=data, allow_redirects=False) as response,
            ):
                await self._check(response)
                return orjson.loads(await response.read())
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreachable(error) from error
        except orjson.JSONDecodeError as error:
            message = f"The provider of {self._model} answered something that is not JSON"
            raise AttemptFailedError(ModelFailedError(message, model=self._model)) from error

    async def _check(self, response: aiohttp.ClientResponse) -> None:
        if response.status == 200:
            return
        body = bytearray()
        try:
            while len(body) < _LONGEST_ERROR_BODY and (chunk := await response.content.readany()):
                body += chunk
        finally:
            response.close()
        raise refusal(response.status, response.headers, bytes(body), model=self._model)

    def _unreachable(self, error: Exception) -> AttemptFailedError:
        import aiohttp

        # Whoever talks to the model reads this; a password in the address is the operator's alone.
        host = urlsplit(self._base_url).netloc.rpartition("@")[2]
        if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError):
            message = f"{self._model} at {host} did not begin to answer in time"
            return AttemptFailedError(ModelUnavailableError(message, model=self._model))
        message = f"{self._model} cannot be reached at {host} ({type(error).__name__})"
        return AttemptFailedError(ModelUnavailableError(message, model=self._model), worth_retrying=True)


class EventStream:
    """The events of one answer. Closing it, at any time, frees the connection and so the model."""

    def __init__(self, response: aiohttp.ClientResponse, *, model: str, timeouts: Timeouts) -> None:
        """`timeouts`: after a silence of `first_token`, in mid-answer of `idle`, the answer counts as broken off."""
        self._response = response
        self._idle = timeouts.idle
        self._model = model
        self._parser = EventParser()
        self._first: list[bytes] | None = None
        self._silence = _SilenceGuard(response, max(timeouts.first_token, timeouts.idle))

    @property
    def in_one_piece(self) -> bool:
        """Whether the server answered with one JSON document although a stream was asked for."""
        return self._response.content_type == "application/json"

    async def whole_body(self) -> bytes:
        """The document of an answer in one piece. Raises ModelFailedError."""
        body = bytearray()
        with self._watched():
            while chunk := await self._chunk():
                body += chunk
                self._silence.begin()
                self.expect_words()
        return bytes(body)

    async def read_first(self) -> bool:
        """Wait for bytes; whether they hold the first event, or are the end. Comments are none."""
        if self.in_one_piece:
            return True
        chunk = await self._chunk()
        self._first = self._parsed(chunk) if chunk else self._parser.finish()
        return bool(self._first) or not chunk

    def expect_words(self) -> None:
        """The answer is under way: from now on a silence of `idle` seconds ends it."""
        self._silence.shorten(self._idle)

    async def events(self) -> list[bytes]:
        """Data of the next events, at least one; an empty list at the end. Raises ModelFailedError."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        with self._watched():
            return await self._read()

    async def finish(self) -> None:
        """Let a stream that has said all end by itself for a moment, so that its connection can be used again."""
        import aiohttp

        if not self._response.content.at_eof():
            with contextlib.suppress(aiohttp.ClientError, OSError):
                async with asyncio.timeout(0.2):
                    await self._chunk()

    def close(self) -> None:
        """Free the connection: for reuse after the end, by closing it before."""
        self._silence.stop()
        if self._response.content.at_eof():
            self._response.release()
        else:
            self._response.close()

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        import aiohttp

        self._silence.begin()
        try:
            yield
        except (aiohttp.ClientError, OSError) as error:
            reason = "fell silent" if self._silence.too_long else "broke off"
            message = f"{self._model} {reason} in the middle of its answer"
            raise ModelFailedError(message, model=self._model) from error
        finally:
            self._silence.end()

    async def _read(self) -> list[bytes]:
        while chunk := await self._chunk():
            if events := self._parsed(chunk):
                return events
            self._silence.begin()
        return self._parser.finish()

    def _parsed(self, chunk: bytes) -> list[bytes]:
        try:
            return self._parser.feed(chunk)
        except EventTooLargeError as error:
            message = f"{self._model} answered something that is no completion"
            raise ModelFailedError(message, model=self._model) from error

    async def _chunk(self) -> bytes:
        try:
            return await self._response.content.readany()
        except RuntimeError as error:
            # So aiohttp calls it when the connection was closed while nobody read.
            raise ConnectionResetError(str(error)) from error


class _SilenceGuard:
    """Closes a response that says nothing for too long.

    One timer for the whole stream, which looks at a time stamp when it fires: setting a timer for each event would
    cost more than reading the event.
    """

    __slots__ = ("_idle", "_loop", "_response", "_since", "_timer", "too_long")

    def __init__(self, response: aiohttp.ClientResponse, idle: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._response = response
        self._idle = idle
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.too_long = False

    def begin(self) -> None:
        self._since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._idle, self._look)

    def end(self) -> None:
        self._since = None

    def shorten(self, idle: float) -> None:
        if idle < self._idle:
            self._idle = idle
            self.stop()
            self._timer = self._loop.call_later(idle, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        quiet = 0.0 if self._since is None else self._loop.time() - self._since
        if quiet >= self._idle:
            self.too_long = True
            self._response.close()
        else:
            self._timer = self._loop.call_later(self._idle - quiet, self._look)


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


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


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class EventTooLargeError(ValueError):
    """An event grew beyond the limit without ending."""


class EventParser:
    """Splits a byte stream into events, wherever the chunks happen to end.

    Only `data` is handed on: event names, ids, retry times and comments mean nothing to a chat-completions client.
    Lines may end in LF, CRLF or CR.
    """

    __slots__ = ("_limit", "_skip_line_feed", "_tail")

    def __init__(self, *, limit: int = 16 * 1024 * 1024) -> None:
        """Refuse events longer than `limit` bytes."""
        self._limit = limit
        self._tail = b""
        self._skip_line_feed = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Data of each event that `chunk` completes. Raises EventTooLargeError."""
        if self._skip_line_feed and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._skip_line_feed = False
        if b"\r" in chunk:
            # A CR ends its line at once; an LF that opens the next chunk belongs to it.
            self._skip_line_feed = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *blocks, self._tail = (self._tail + chunk).split(b"\n\n")
        if len(self._tail) > self._limit:
            raise EventTooLargeError(f"an event of more than {self._limit} bytes")
        if not blocks:
            return []
        return [data for block in blocks if (data := _data_of(block)) is not None]

    def finish(self) -> list[bytes]:
        """Data of the last event, for servers that end the stream without the closing blank line."""
        block, self._tail = self._tail, b""
        data = _data_of(block)
        return [] if data is None else [data]


def _data_of(block: bytes) -> bytes | None:
    if block.startswith(b"data: ") and b"\n" not in block:
        return block[6:]
    values = []
    for line in block.removeprefix(_BYTE_ORDER_MARK).split(b"\n"):
        field, _, value = line.partition(b":")
        if field == b"data":
            values.append(value.removeprefix(b" "))
    return b"\n".join(values) if values else None
