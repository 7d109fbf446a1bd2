"""A provider on loopback: a real HTTP server that answers each request by the next handler."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from language_models.errors import ModelError
from language_models.openai.chat import ProviderChatModel
from language_models.openai.client import Timeouts
from language_models.openai.failures import RetryPolicy
from language_models.ports import ChatMessage, Delta
from tests.served_application import served

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
QUESTION: list[ChatMessage] = [{"role": "user", "content": "Which colour is the sky?"}]


@dataclass
class Loopback:
    """Records what it is asked; the last handler answers all later requests."""

    handlers: list[Handler]
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    sockets: set[Any] = field(default_factory=set)
    model_list: Any = None
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        try:
            self.bodies.append(json.loads(await request.read()))
            self.headers.append(dict(request.headers))
            assert request.transport is not None
            self.sockets.add(request.transport.get_extra_info("peername"))
            return await self.handlers[min(len(self.bodies), len(self.handlers)) - 1](request)
        except asyncio.CancelledError:
            self.hung_up.set()
            raise

    async def list_models(self, _request: web.Request) -> web.StreamResponse:
        if self.model_list is None:
            return web.json_response({"error": "no such page"}, status=404)
        return web.json_response(self.model_list)

    async def show_model(self, request: web.Request) -> web.StreamResponse:
        for entry in (self.model_list or {}).get("data", ()):
            if entry["id"] == request.match_info["id"]:
                return web.json_response(entry)
        return web.json_response({"error": {"type": "not_found_error", "message": "no such model"}}, status=404)


@contextlib.asynccontextmanager
async def answering(*handlers: Handler, model_list: Any = None) -> AsyncIterator[Loopback]:
    """A provider for the block, on the running loop."""
    server = Loopback(list(handlers), model_list=model_list)
    app = web.Application(client_max_size=64 * 1024**2)
    app.router.add_get("/v1/models", server.list_models)
    app.router.add_get("/v1/models/{id}", server.show_model)
    app.router.add_post("/v1/chat/completions", server.handle)
    app.router.add_post("/v1/messages", server.handle)
    app.router.add_post("/v1/embeddings", server.handle)
    async with served(app) as port:
        server.url = f"http://127.0.0.1:{port}/v1"
        yield server


@contextlib.asynccontextmanager
async def asking(
    server: Loopback, *, model: str = "test-model", client: type[ProviderChatModel] = ProviderChatModel, **options: Any
) -> AsyncIterator[ProviderChatModel]:
    """A model at that provider, which does not wait long between attempts."""
    options = {
        "api_key": "sk-secret",
        "retries": RetryPolicy(first_pause=0.001),
        "timeouts": Timeouts(connect=60.0, first_token=60.0, idle=60.0, answer=60.0),
        "context_window": 32_000,
    } | options
    asked = client(base_url=server.url, model=model, **options)
    try:
        yield asked
    finally:
        await asked.aclose()


def event(data: Any) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def piece(text: str) -> bytes:
    return event({"choices": [{"index": 0, "delta": {"content": text}}]})


def ending(reason: str = "stop") -> bytes:
    return event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})


USAGE = event({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}})
DONE = b"data: [DONE]\n\n"


def streaming(*chunks: bytes, then: Handler | None = None) -> Handler:
    """Sends `chunks` one by one; afterwards ends the answer, or does what `then` does."""

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for chunk in chunks:
            await response.write(chunk)
        if then is not None:
            await then(request)
        return response

    return handler


def refusing(status: int, body: Any = None, **headers: str) -> Handler:
    """Answers with an error status."""

    async def handler(_request: web.Request) -> web.StreamResponse:
        text = body if isinstance(body, str) else json.dumps(body or {"error": {"message": "not now"}})
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, text=text, headers=named)

    return handler


def in_one_piece(document: Any) -> Handler:
    """Answers with one JSON document."""

    async def handler(_request: web.Request) -> web.StreamResponse:
        return web.json_response(document)

    return handler


async def hang(_request: web.Request) -> web.StreamResponse:
    """Say nothing more, for ever."""
    await asyncio.Event().wait()
    raise AssertionError


async def hang_up(request: web.Request) -> web.StreamResponse:
    """Drop the connection."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


ANSWER = streaming(piece("Hello "), piece("world"), ending(), USAGE, DONE)


def talk(
    *handlers: Handler, model_list: Any = None, wishes: dict[str, Any] | None = None, **options: Any
) -> tuple[list[Delta], Loopback]:
    """One streamed question to a provider that answers so: the steps, and what the provider saw."""

    async def question() -> tuple[list[Delta], Loopback]:
        async with answering(*handlers, model_list=model_list) as server, asking(server, **options) as model:
            return [step async for step in model.stream(QUESTION, **(wishes or {}))], server

    return asyncio.run(question())


def refusal_of(
    *handlers: Handler, kind: type[ModelError] = ModelError, **options: Any
) -> tuple[ModelError, list[Delta]]:
    """The error that a streamed question ends with, and the steps before it."""

    async def question() -> tuple[ModelError, list[Delta]]:
        steps = []
        async with answering(*handlers) as server, asking(server, **options) as model:
            try:
                async for step in model.stream(QUESTION):
                    steps.append(step)
            except kind as error:
                return error, steps
        raise AssertionError("the stream ended well")

    return asyncio.run(question())


def text_of(steps: Sequence[Delta]) -> str:
    return "".join(step.text for step in steps)
