"""The HTTP client of all providers: streamed responses (server-sent events), JSON responses, and typed failures."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import orjson

from language_models.errors import BadCredentialsError, ModelError, ModelFailedError, ModelUnavailableError
from language_models.openai.failures import AttemptFailedError, refusal
from language_models.ports import ModelState
from sentences import say

if TYPE_CHECKING:
    import aiohttp

    from language_models.openai.sessions import LoopSessions

_LONGEST_ERROR_BODY = 64 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_DRAIN_SECONDS = 0.2
END_SECONDS = 10.0
LONGEST_EVENT = 16 * 1024 * 1024
"""Bytes of one event, or of an answer that is one document."""


class EventTooLargeError(ValueError):
    """An event exceeded the size limit."""


class EventParser:
    """Splits a byte stream into events, whatever the boundaries of its chunks.

    Only the `data` of events is returned: a chat-completions client has no use for event names, ids, retry times and
    comments. Lines may end in LF, CRLF or CR.
    """

    __slots__ = ("_limit", "_skip_line_feed", "_tail")

    def __init__(self, *, limit: int = LONGEST_EVENT) -> None:
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
            # A CR ends its line; an LF at the start of the next chunk belongs to the same line end.
            self._skip_line_feed = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *blocks, self._tail = (self._tail + chunk).split(b"\n\n")
        if len(self._tail) > self._limit:
            raise EventTooLargeError(f"an event of more than {self._limit} bytes")
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


class AnswerStream(Protocol):
    """The events of one answer as a provider sends them; see `EventStream`."""

    @property
    def is_document(self) -> bool:
        """Whether the answer is one document instead."""
        return False

    async def document(self) -> bytes:
        """The document."""
        return b""

    async def read_first(self) -> bool:
        """Wait for the first event; False: only for a sign of life."""

    def expect_words(self) -> None:
        """The answer has begun."""

    def expect_end(self) -> None:
        """The answer has ended."""

    async def events(self) -> list[bytes]:
        """Data of the next events, at least one; an empty list at the end."""

    async def finish(self) -> None:
        """Wait briefly for the end of a complete stream."""
        return

    def close(self) -> None:
        """Free the model."""


class EventStream(AnswerStream):
    """The events of one response. Closing it, at any time, closes the connection and so frees the model."""

    def __init__(self, response: aiohttp.ClientResponse, *, model: str, first_token: float, idle: float) -> None:
        """first_token, idle: seconds of silence, before and after the first token, that end the stream."""
        self._response = response
        self._idle = idle
        self._end = min(idle, END_SECONDS)
        self._model = model
        self._parser = EventParser()
        self._first: list[bytes] | None = None
        self._silence = _SilenceGuard(response, max(first_token, idle))

    @property
    def is_document(self) -> bool:
        """Whether the server answered with one JSON document instead of a stream."""
        return self._response.content_type == "application/json"

    async def document(self) -> bytes:
        """The body of a response that is one document. Raises ModelFailedError, AttemptFailedError."""
        body = bytearray()
        with self._watched():
            while chunk := await self._chunk():
                body += chunk
                if len(body) > LONGEST_EVENT:
                    raise self._invalid()
                self._silence.begin()
                self.expect_words()
        return bytes(body)

    async def read_first(self) -> bool:
        """Wait for bytes; True when they hold the first event or are the end, False for comments.

        Raises ModelFailedError for a page of a web site, to which a wrong base URL may lead.
        """
        if self._response.content_type == "text/html":
            raise self._invalid()
        if self.is_document:
            return True
        chunk = await self._chunk()
        self._first = self._parsed(chunk) if chunk else self._parser.finish()
        return bool(self._first) or not chunk

    def expect_words(self) -> None:
        """The answer has begun: from now on, `idle` seconds of silence end the stream."""
        self._silence.shorten(self._idle)

    def expect_end(self) -> None:
        """The answer has ended: only figures may follow, and some servers leave the connection open."""
        self._silence.shorten(self._end)

    async def events(self) -> list[bytes]:
        """Data of the next events, at least one; an empty list at the end.

        Raises ModelFailedError, AttemptFailedError.
        """
        if self._first is not None:
            first, self._first = self._first, None
            return first
        with self._watched():
            while chunk := await self._chunk():
                if events := self._parsed(chunk):
                    return events
                self._silence.begin()
            return self._parser.finish()

    async def finish(self) -> None:
        """Wait briefly for the end of a complete stream, so that its connection can be reused."""
        import aiohttp

        if not self._response.content.at_eof():
            with contextlib.suppress(aiohttp.ClientError, OSError):
                async with asyncio.timeout(_DRAIN_SECONDS):
                    await self._chunk()

    def close(self) -> None:
        """Release the connection: for reuse after the end, by closing it before."""
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
            too_late = self._silence.too_long
            message = say("model_fell_silent" if too_late else "model_broke_off", model=self._model)
            failed = ModelFailedError(message, model=self._model)
            raise AttemptFailedError(failed, worth_retrying=not too_late) from error
        finally:
            self._silence.end()

    def _parsed(self, chunk: bytes) -> list[bytes]:
        try:
            return self._parser.feed(chunk)
        except EventTooLargeError as error:
            raise self._invalid() from error

    def _invalid(self) -> ModelFailedError:
        return ModelFailedError(say("no_completion", model=self._model), model=self._model)

    async def _chunk(self) -> bytes:
        try:
            return await self._response.content.readany()
        except RuntimeError as error:
            # aiohttp raises this for a connection that was closed while nobody was reading.
            raise ConnectionResetError(str(error)) from error


class _SilenceGuard:
    """Closes a response that is silent for too long.

    One timer for the whole stream, which compares time stamps when it fires: a timer for each event would cost more
    than reading the event.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds: to connect, until the first token, between two tokens, for a JSON response.

    A model may think for minutes before its first token. Whatever the provider sends meanwhile restarts the timeout.
    """

    connect: float = 10.0
    first_token: float = 600.0
    idle: float = 120.0
    answer: float = 60.0


class ProviderHttp:
    """Requests to one provider with one API key."""

    def __init__(self, *, base_url: str, api_key: str | None, model: str, timeouts: Timeouts) -> None:
        """`base_url` ends before `/chat/completions`. Opens nothing; aiohttp is imported with the first request."""
        self._base_url = base_url.rstrip("/")
        self._model = model
        self._timeouts = timeouts
        # Compressed streams are delayed until a block is full, and cost CPU time.
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity", "User-Agent": "Anaphora"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._sessions: LoopSessions | None = None
        # Two loops may ask first at the same time, and sessions that nobody holds are closed under their requests.
        self._creating = threading.Lock()
        self._trouble = ""

    def state(self) -> ModelState:
        """Ready, or failed where the last request found no server or the key was refused."""
        if self._trouble:
            return ModelState(name=self._model, phase="failed", detail=self._trouble)
        return ModelState(name=self._model, phase="ready", progress=1.0)

    def note_success(self) -> None:
        """The model has answered."""
        self._trouble = ""

    def note_failure(self, error: ModelError) -> None:
        """A request has failed, for good or for now."""
        if isinstance(error, ModelUnavailableError | BadCredentialsError):
            self._trouble = error.message

    async def open_stream(self, body: Mapping[str, Any]) -> AnswerStream:
        """Send a request and wait for the head of the response. Raises AttemptFailedError.

        `has_begun` waits for the first event.
        """
        import aiohttp

        try:
            async with asyncio.timeout(self._timeouts.first_token):
                response = await self._post("/chat/completions", body)
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreachable(error) from error
        timeouts = self._timeouts
        return EventStream(response, model=self._model, first_token=timeouts.first_token, idle=timeouts.idle)

    async def has_begun(self, stream: AnswerStream) -> bool:
        """Wait for the next bytes: True for an event or the end; False for a comment, after which to call again.

        A failure before the first event closes the stream, and the request can be retried. Raises AttemptFailedError.
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

    async def model_list(self) -> Any:
        """The models that the provider offers, as `model_entries` reads them. Raises AttemptFailedError."""
        return await self._json("GET", "/models", None)

    async def post_json(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON response to a POST. Raises AttemptFailedError."""
        return await self._json("POST", path, orjson.dumps(body))

    async def aclose(self) -> None:
        """Close all connections."""
        if self._sessions is not None:
            await self._sessions.aclose()

    async def _session(self) -> aiohttp.ClientSession:
        with self._creating:
            if self._sessions is None:
                from language_models.openai.sessions import LoopSessions

                self._sessions = LoopSessions(
                    self._base_url,
                    headers=self._headers,
                    connect_timeout=self._timeouts.connect,
                    is_local=is_loopback(self._base_url),
                )
        return await self._sessions.current()

    async def _post(self, path: str, body: Mapping[str, Any]) -> aiohttp.ClientResponse:
        session = await self._session()
        response = await session.post(self._base_url + path, data=orjson.dumps(body), allow_redirects=False)
        await self._check(response)
        return response

    async def _json(self, method: str, path: str, data: bytes | None) -> Any:
        import aiohttp

        try:
            session = await self._session()
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

        # Users read this message: a password in the URL is the operator's secret.
        host = urlsplit(self._base_url).netloc.rpartition("@")[2]
        if isinstance(error, TimeoutError) and not isinstance(error, aiohttp.ClientError):
            message = say("provider_late", model=self._model, host=host)
            return AttemptFailedError(ModelUnavailableError(message, model=self._model))
        message = say("provider_unreachable", model=self._model, host=host, error=type(error).__name__)
        return AttemptFailedError(ModelUnavailableError(message, model=self._model), worth_retrying=True)


def is_loopback(url: str) -> bool:
    """Whether a URL leads to this machine."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
