"""The Model Context Protocol over streamable HTTP: each request is answered from a whole body with a whole response.

Each has a server and an event loop of its own, in the thread of its view: limits, credentials and queues are those of
every view, nothing is kept between requests, and blocking work holds up nobody else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import orjson
from flask import Blueprint, Response
from werkzeug.wrappers import Response as BaseResponse

from chat.tools.agents import ask_agent
from endpoints.http.errors import UnauthorizedError
from endpoints.http.scope import current_access, current_request, current_state
from endpoints.http.validation import admits_read_only_tokens, answers, fails, takes
from endpoints.http.wsgi import Answer
from endpoints.mcp.server import Account, server_for
from endpoints.serving.work_queues import Work, calls_tool, read_on_loop, works
from endpoints.tools.views import current_tool_context

from . import models as mcp_models
from .messages import in_protocol, problem_of, refusal

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


blueprint = Blueprint("mcp", __name__)


def work_of_message(_parameters: Mapping[str, str], body: bytes) -> Work:
    """The kind of work that a message of the protocol is. A question to an agent waits for a model.

    What calls nobody knows yet, as in a long body, waits among the tools that may hang.
    """
    message = read_on_loop(body)
    if not isinstance(message, dict):
        return Work.TOOLS
    return Work.MODEL if _called(message) in (ask_agent.name, *ask_agent.aliases) else Work.MCP


def tool_of_message(_arguments: Mapping[str, Any], body: bytes) -> str | None:
    """The tool that a message calls."""
    name = _called(read_on_loop(body))
    return name if isinstance(name, str) else None


def _called(message: Any) -> Any:
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return None
    params = message.get("params")
    return params.get("name") if isinstance(params, dict) else None


@blueprint.post("/mcp")
@in_protocol
@takes(mcp_models.JsonRpcRequest)
@answers(mcp_models.JsonRpcAnswer, without_body=HTTPStatus.ACCEPTED, own_errors=mcp_models.JsonRpcAnswer)
@fails("tool_not_found")
@admits_read_only_tokens
@works(work_of_message)
@calls_tool(tool_of_message)
def model_context_protocol(body: mcp_models.JsonRpcRequest) -> BaseResponse:
    """One message of the Model Context Protocol, with an API token; a read-only one is offered what only reads."""
    access = current_access()
    if access.by != "token":
        raise UnauthorizedError("Programs show an API token.")
    if (problem := problem_of(body.root)) is not None:
        return refusal(*problem, of=body.root)
    account = Account(context=current_tool_context(), tools=current_state().tools, may_write=not access.read_only)
    answer = answer_to(orjson.dumps(body.root), current_request().headers.items(), server=server_for(account))
    assert isinstance(answer.body, bytes)
    media = dict(answer.headers).get(b"content-type", b"application/json").decode("latin-1")
    return Response(answer.body, status=answer.status, content_type=media if answer.body else None)
