"""The MCP servers over HTTP that the caller has joined."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Blueprint

from chat.tools.foreign.calls import name_of
from chat.tools.foreign.personal import MOST_SERVERS, PersonalServer, PersonalServers
from endpoints.http.errors import ForbiddenError
from endpoints.http.models import Done
from endpoints.http.scope import current_state, current_user_email
from endpoints.http.validation import answers, fails, takes
from endpoints.serving.work_queues import Work, works
from sentences import say

from . import models as server_models

blueprint = Blueprint("tool_servers", __name__)


@blueprint.get("/api/tool_servers")
@answers(server_models.ToolServers)
def list_tool_servers() -> object:
    """Your tool servers."""
    servers = current_state().tool_servers
    return {
        "allowed": servers.reach or "off",
        "limit": MOST_SERVERS,
        "servers": [_item(each) for each in servers.servers_of(current_user_email())],
    }


@blueprint.post("/api/tool_servers")
@takes(server_models.NewToolServer)
@answers(server_models.ToolServerItem, status=HTTPStatus.CREATED)
@fails("address_refused", "conflict", "forbidden")
def add_tool_server(body: server_models.NewToolServer) -> object:
    """Join a server. It is asked for its tools by `POST /api/tool_servers/<name>/try`."""
    headers = body.all_headers or {}
    return _item(_allowed().add(current_user_email(), name=body.name, url=body.url, headers=headers))


@blueprint.patch("/api/tool_servers/<server_name>")
@takes(server_models.ToolServerChange)
@answers(server_models.ToolServerItem)
@fails("address_refused", "forbidden")
def change_tool_server(body: server_models.ToolServerChange, server_name: str) -> object:
    """Change a server, or switch it on or off. Where the address changes, all conversations ask for consent again."""
    return _item(
        _allowed().change(current_user_email(), server_name, url=body.url, headers=body.all_headers, is_on=body.is_on)
    )


@blueprint.delete("/api/tool_servers/<server_name>")
@answers(Done)
def remove_tool_server(server_name: str) -> None:
    """Leave a server; its secrets are erased, and the consent to its tools with it."""
    current_state().tool_servers.remove(current_user_email(), server_name)


@blueprint.post("/api/tool_servers/<server_name>/try")
@answers(server_models.ToolServerItem)
@fails("forbidden", "too_many_calls")
@works(Work.MODEL)
def try_tool_server(server_name: str) -> object:
    """Ask a server for its tools, for 20 seconds at most. `state` and `reason` say how that went."""
    return _item(_allowed().probe(current_user_email(), server_name))


def _allowed() -> PersonalServers:
    """Everybody's servers, where people may have any. Raises ForbiddenError."""
    servers = current_state().tool_servers
    if servers.reach is None:
        raise ForbiddenError(say("no_own_tool_servers"))
    return servers


def _item(each: PersonalServer) -> dict[str, Any]:
    server = each.server
    return {
        "name": each.name,
        "url": server.address,
        "headers": sorted(server.headers),
        "is_on": each.is_on,
        "state": each.state,
        "reason": each.reason,
        "checked_at": each.checked_at,
        "tools": [{"name": name_of(server, tool), "description": tool.description} for tool in server.tools],
    }
