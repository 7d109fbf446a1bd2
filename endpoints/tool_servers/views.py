"""The MCP servers over HTTP that the caller has joined."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Annotated, Any, Literal

from flask import Blueprint
from pydantic import AfterValidator, Field

from chat.tools.foreign.calls import name_of
from chat.tools.foreign.personal import MOST_SERVERS, PersonalServer, PersonalServers
from endpoints.http.errors import ForbiddenError
from endpoints.http.models import Body, Done, Shape, Text
from endpoints.http.scope import current_state, current_user_email
from endpoints.http.validation import answers, fails, takes
from endpoints.serving.work_queues import Work, works
from sentences import say

_HEADER_NAME = r"^[A-Za-z0-9-]{1,100}$"
_HEADER_VALUE = r"^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$"
# The connection sets these itself.
_RESERVED = re.compile(
    r"host|connection|content-.*|transfer-encoding|te|trailer|upgrade|expect|accept.*|cookie|proxy-.*|mcp-.*|last-event-id",
    re.IGNORECASE,
)


def _settable(headers: dict[str, str]) -> dict[str, str]:
    if any(_RESERVED.fullmatch(name) for name in headers):
        raise ValueError("one of these headers can't be set")
    return headers


_Url = Annotated[Text, Field(min_length=1, max_length=2_000)]
_Headers = Annotated[
    dict[Annotated[str, Field(pattern=_HEADER_NAME)], Annotated[str, Field(pattern=_HEADER_VALUE, max_length=4_000)]],
    Field(max_length=10),
    AfterValidator(_settable),
]
_Token = Annotated[str, Field(pattern=r"^[\x21-\x7e]+$", max_length=4_000)]


class _Secrets(Body):
    """What a server is shown with each request. It can be set and never read.

    `token` is sent as `Authorization: Bearer …`, beside `headers`.
    """

    token: _Token | None = None
    headers: _Headers | None = None

    @property
    def all_headers(self) -> dict[str, str] | None:
        """All of them; None where nothing was given."""
        if self.token is None:
            return self.headers
        return {**(self.headers or {}), "Authorization": f"Bearer {self.token}"}


class NewToolServer(_Secrets):
    """A server that is to be joined. Models call its tools `<name>__<tool>`."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
    url: _Url


class ToolServerChange(_Secrets):
    """What is to change; what is left out stays.

    Headers are replaced as a whole. A new address has none but those that come with it.
    """

    url: _Url | None = None
    is_on: bool | None = None


class ServerTool(Shape):
    """A tool of a server. `name`: what models call it."""

    name: str
    description: str


class ToolServerItem(Shape):
    """A server. `url`: without the query, which may hold a key. `headers`: the names of those that are set.

    `state`: how the last call went; `reason`: why it failed; `checked_at`: since when that is so.
    """

    name: str
    url: str
    headers: list[str]
    is_on: bool
    state: Literal["untried", "ready", "failed"]
    reason: Literal["address_refused", "unreachable", "unauthorized", "timeout", "failed"] | None
    checked_at: str | None
    tools: list[ServerTool]


class ToolServers(Shape):
    """Your servers by name. `allowed`: which addresses they may have; "off": none may be joined. `limit`: how many."""

    allowed: Literal["off", "public", "private"]
    limit: int
    servers: list[ToolServerItem]


blueprint = Blueprint("tool_servers", __name__)


@blueprint.get("/api/tool_servers")
@answers(ToolServers)
def list_tool_servers() -> object:
    """Your tool servers."""
    servers = current_state().tool_servers
    return {
        "allowed": servers.reach or "off",
        "limit": MOST_SERVERS,
        "servers": [_item(each) for each in servers.servers_of(current_user_email())],
    }


@blueprint.post("/api/tool_servers")
@takes(NewToolServer)
@answers(ToolServerItem, status=HTTPStatus.CREATED)
@fails("address_refused", "conflict", "forbidden")
def add_tool_server(body: NewToolServer) -> object:
    """Join a server. It is asked for its tools by `POST /api/tool_servers/<name>/try`."""
    headers = body.all_headers or {}
    return _item(_allowed().add(current_user_email(), name=body.name, url=body.url, headers=headers))


@blueprint.patch("/api/tool_servers/<server_name>")
@takes(ToolServerChange)
@answers(ToolServerItem)
@fails("address_refused", "forbidden")
def change_tool_server(body: ToolServerChange, server_name: str) -> object:
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
@answers(ToolServerItem)
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
