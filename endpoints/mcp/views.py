"""The Model Context Protocol over streamable HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from flask import Blueprint, Response
from pydantic import ConfigDict, RootModel

from chat.tools.agents import ask_agent
from endpoints.http.errors import UnauthorizedError
from endpoints.http.models import JsonObject, Shape
from endpoints.http.scope import current_access, current_request, current_state
from endpoints.http.validation import admits_read_only_tokens, answers, fails, takes
from endpoints.mcp.exchange import answer_to
from endpoints.mcp.server import Account, server_for
from endpoints.serving.work_queues import Work, read_on_loop, works
from endpoints.tools.views import current_tool_context


class JsonRpcRequest(RootModel[JsonObject]):
    """A request or a notification: `jsonrpc`, `method`, `params`, and `id` for a request."""

    model_config = ConfigDict(strict=True)


class JsonRpcAnswer(Shape):
    """An answer: `result` or `error`."""

    jsonrpc: str
    id: int | str | None = None
    result: dict[str, Any] | None = None
    error: dict[str, Any] | None = None


blueprint = Blueprint("mcp", __name__)


def work_of_message(_parameters: Mapping[str, str], body: bytes) -> Work:
    """The kind of work that a message of the protocol is. A question to an agent waits for a model; a long body may."""
    message = read_on_loop(body)
    if not isinstance(message, dict):
        return Work.MODEL
    params = message.get("params")
    called = params.get("name") if message.get("method") == "tools/call" and isinstance(params, dict) else None
    return Work.MODEL if called in (ask_agent.name, *ask_agent.aliases) else Work.MCP


@blueprint.post("/mcp")
@takes(JsonRpcRequest)
@answers(JsonRpcAnswer, without_body=HTTPStatus.ACCEPTED, own_errors=JsonRpcAnswer)
@fails("tool_not_found")
@admits_read_only_tokens
@works(work_of_message)
def model_context_protocol(body: JsonRpcRequest) -> Response:
    """One message of the Model Context Protocol, with an API token; a read-only one is offered what only reads."""
    access = current_access()
    if access.by != "token":
        raise UnauthorizedError("Programs show an API token.")
    account = Account(context=current_tool_context(), tools=current_state().tools, may_write=not access.read_only)
    answer = answer_to(orjson.dumps(body.root), current_request().headers.items(), server=server_for(account))
    assert isinstance(answer.body, bytes)
    media = dict(answer.headers).get(b"content-type", b"application/json").decode("latin-1")
    return Response(answer.body, status=answer.status, content_type=media if answer.body else None)
