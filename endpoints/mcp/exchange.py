"""One request of the protocol over HTTP, answered from a whole body with a whole response.

Each request has a server and an event loop of its own, in the thread of its view: limits, credentials and queues are
those of every view, nothing is kept between requests, and blocking work holds up nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from endpoints.http.wsgi import Answer

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server

_ACCEPTED = b"application/json, text/event-stream"


def answer_to(body: bytes, headers: Iterable[tuple[str, str]], *, server: Server[Any]) -> Answer:
    """The server's response. headers: those that the protocol knows, content type and versions."""
    return asyncio.run(_answer(body, headers, server))


async def _answer(body: bytes, headers: Iterable[tuple[str, str]], server: Server[Any]) -> Answer:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "scheme": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        # Answers are always JSON. The library refuses clients that do not take streams as well.
        "headers": [*_encoded(headers), (b"accept", _ACCEPTED)],
    }
    exchange = _Exchange(body)
    # The guards have checked host and origin.
    manager = StreamableHTTPSessionManager(app=server, json_response=True, stateless=True)
    async with manager.run():
        await manager.handle_request(scope, exchange.receive, exchange.send)
    return exchange.answer()


def _encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    kept = ((name.lower(), value) for name, value in headers)
    return [
        (name.encode("latin-1"), value.encode("latin-1"))
        for name, value in kept
        if name in ("content-type", "host") or name.startswith("mcp-")
    ]


class _Exchange:
    """An ASGI request whose body is there, and its response as it comes."""

    def __init__(self, body: bytes) -> None:
        self._body: bytes | None = body
        self._status = 500
        self._headers: list[tuple[bytes, bytes]] = []
        self._parts: list[bytes] = []

    async def receive(self) -> dict[str, Any]:
        """The body, once; then nothing more comes."""
        if self._body is None:
            await asyncio.Event().wait()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, event: Any) -> None:
        """Keep a part of the response."""
        if event["type"] == "http.response.start":
            self._status, self._headers = event["status"], list(event.get("headers", []))
        else:
            self._parts.append(event.get("body", b""))

    def answer(self) -> Answer:
        """The response."""
        return Answer(self._status, self._headers, b"".join(self._parts))
