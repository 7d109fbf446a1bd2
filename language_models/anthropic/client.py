"""Requests to Anthropic by its own client, which is imported with the first one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from language_models.anthropic.wire import messages_request
from language_models.errors import ModelFailedError
from language_models.openai.client import END_SECONDS, AnswerStream, ProviderHttp, Timeouts
from language_models.openai.failures import AttemptFailedError, refusal
from language_models.per_loop import PerLoop
from sentences import say

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic

_LOOK_UP_SECONDS = 5.0
"""Answers wait so long for the limits of their model."""


class MessagesHttp(ProviderHttp):
    """Requests to the Messages API with one API key."""

    def __init__(self, *, base_url: str, api_key: str | None, model: str, timeouts: Timeouts) -> None:
        """`base_url` ends before `/messages`. Opens nothing."""
        super().__init__(base_url=base_url, api_key=api_key, model=model, timeouts=timeouts)
        # Not ANTHROPIC_API_KEY or a profile of the machine, which the package would use by itself.
        self._api_key = api_key or ""
        self._clients: PerLoop[AsyncAnthropic] = PerLoop(self._opened)

    async def open_stream(self, body: Mapping[str, Any]) -> AnswerStream:
        """Send a request and wait for the head of the response. Raises AttemptFailedError."""
        client = await self._client()
        request = messages_request(body)
        with self._failures():
            async with asyncio.timeout(self._timeouts.first_token):
                response = await client.messages.with_raw_response.create(**request)
        return MessageStream(response.http_response, model=self._model, timeouts=self._timeouts)

    async def model_list(self) -> Any:
        """The models that Anthropic offers. Raises AttemptFailedError."""
        client = await self._client()
        with self._failures():
            async with asyncio.timeout(self._timeouts.answer):
                return {"data": [each.to_dict() async for each in client.models.list(limit=1000)]}

    async def model_info(self) -> dict[str, Any]:
        """What Anthropic says of the model. Raises AttemptFailedError."""
        client = await self._client()
        with self._failures():
            async with asyncio.timeout(min(_LOOK_UP_SECONDS, self._timeouts.answer)):
                return (await client.models.retrieve(self._model)).to_dict()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._clients.aclose()

    async def _client(self) -> AsyncAnthropic:
        # The import takes a second, which the loop of the server does not have. The client imports its resources later.
        await asyncio.to_thread(import_module, "anthropic.resources")
        return await self._clients.current()

    def _opened(self) -> AsyncAnthropic:
        import httpx2
        from anthropic import AsyncAnthropic

        logging.getLogger("httpx2").setLevel(logging.WARNING)  # it tells each request
        return AsyncAnthropic(
            api_key=self._api_key,
            base_url=self._base_url.removesuffix("/v1"),
            max_retries=0,
            timeout=httpx2.Timeout(None, connect=self._timeouts.connect),
            default_headers={name: self._headers[name] for name in ("Accept-Encoding", "User-Agent")},
            open_telemetry=False,
        )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        from anthropic import AnthropicError, APIStatusError

        try:
            yield
        except APIStatusError as error:
            headers, body = error.response.headers, error.response.content
            raise refusal(error.status_code, headers, body, model=self._model) from error
        except (AnthropicError, OSError) as error:
            cause = error.__cause__
            raise self._unreachable(cause if isinstance(cause, Exception) else error) from error
        except (AttributeError, TypeError, ValueError) as error:
            message = say("no_completion", model=self._model)
            raise AttemptFailedError(ModelFailedError(message, model=self._model)) from error


class MessageStream(AnswerStream):
    """The events of one response. Whatever arrives, pings too, restarts the timeout."""

    def __init__(self, response: Any, *, model: str, timeouts: Timeouts) -> None:
        """`response`: the streamed response of the package's HTTP client."""
        from anthropic import AsyncStream

        self._response = response
        self._events: AsyncIterator[Any] = AsyncStream.raw_events(response)
        self._model = model
        self._idle = timeouts.idle
        self._silence = max(timeouts.first_token, timeouts.idle)
        self._first: list[bytes] | None = None
        self._freeing: asyncio.Task[None] | None = None

    async def read_first(self) -> bool:
        """Wait for the first event; False for a ping. Raises AttemptFailedError."""
        event = await self._next()
        self._first = [] if event is None else _data(event)
        return bool(self._first) or event is None

    async def events(self) -> list[bytes]:
        """Data of the next event; an empty list at the end. Raises AttemptFailedError."""
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            while True:
                async with asyncio.timeout(self._silence):
                    event = await self._next()
                if event is None or _data(event):
                    return [] if event is None else _data(event)
        except TimeoutError as error:
            raise AttemptFailedError(self._failed("model_fell_silent")) from error

    def expect_words(self) -> None:
        """See `EventStream`."""
        self._silence = min(self._silence, self._idle)

    def expect_end(self) -> None:
        """See `EventStream`."""
        self._silence = min(self._silence, END_SECONDS)

    def close(self) -> None:
        """Close the connection, unless the response was read to its end."""
        if self._freeing is None and not self._response.is_closed:
            self._freeing = asyncio.get_running_loop().create_task(self._response.aclose())

    async def _next(self) -> Any:
        import httpx2

        try:
            return await anext(self._events, None)
        except httpx2.HTTPError as error:
            raise AttemptFailedError(self._failed("model_broke_off"), worth_retrying=True) from error

    def _failed(self, code: str) -> ModelFailedError:
        return ModelFailedError(say(code, model=self._model), model=self._model)


def _data(event: Any) -> list[bytes]:
    return [event.data.encode()] if event.data and event.event != "ping" else []
