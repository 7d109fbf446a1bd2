"""The HTTP client of all providers: streamed and JSON responses, typed failures."""

from __future__ import annotations

import asyncio
import ipaddress
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from language_models.errors import BadCredentialsError, ModelError, ModelFailedError, ModelUnavailableError
from language_models.openai.events import AnswerStream, EventStream
from language_models.openai.failures import AttemptFailedError, refusal
from language_models.ports import ModelState
from sentences import say

if TYPE_CHECKING:
    import aiohttp

    from language_models.openai.sessions import LoopSessions

_LONGEST_ERROR_BODY = 64 * 1024


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
