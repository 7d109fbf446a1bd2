"""One call of a foreign MCP server: its process is started or its address is asked, and then it is left.

Each call has a process or a connection of its own. So nothing of one person's call is left for another's, and a server
that dies or hangs takes nothing along.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeVar

import orjson
from pydantic import ValidationError

from chat.tools.foreign import limited
from chat.tools.foreign.addresses import Reach
from chat.tools.foreign.configuration import FOLDER, ForeignServer, ForeignTool, servers_in
from chat.tools.registry import Result, Tool, ToolContext, ToolError, ToolRegistry
from database.engine.text import storable
from sentences import say

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import Tool as ListedTool


T = TypeVar("T")
Reason = Literal["address_refused", "unreachable", "unauthorized", "timeout", "failed"]
_MOST_TOOLS = 50
_LONGEST_DESCRIPTION = 1_000
_LONGEST_SCHEMA = 20_000


class ForeignServerError(ToolError):
    """The server did not answer, or not in time; `reason` says why, as far as it is known."""

    code = "foreign_server_failed"

    def __init__(self, message: str, *, reason: Reason = "failed") -> None:
        super().__init__(message)
        self.reason = reason


class ForeignToolError(ToolError):
    """The server says that the call has failed."""

    code = "foreign_tool_failed"


def tools_of(
    server: ForeignServer, data_dir: Path, *, reach: Reach | None = None, errors: TextIO | None = None
) -> list[ForeignTool]:
    """The tools that the server offers, 50 at most, without those whose names or schemas can't be used.

    reach: which addresses may be asked; None: any. errors: a file for the error output of its process, which may hold
    secrets of the configuration. Raises ForeignServerError.
    """

    async def listed(client: Client) -> list[ForeignTool]:
        found = map(_described, (await client.list_tools()).tools[:_MOST_TOOLS])
        return [each for each in found if each is not None]

    return _asked(server, data_dir, listed, reach, errors=errors)


def _described(tool: ListedTool) -> ForeignTool | None:
    """A tool as it is kept; None where it can't be used."""
    parameters = dict(tool.input_schema)
    try:
        if len(orjson.dumps(parameters)) > _LONGEST_SCHEMA:
            return None
        description = storable(tool.description or "")[:_LONGEST_DESCRIPTION]
        return ForeignTool(name=tool.name, description=description, parameters=parameters)
    except (ValidationError, orjson.JSONEncodeError):
        return None


def call_tool(
    server: ForeignServer, data_dir: Path, tool: str, arguments: dict[str, Any], *, reach: Reach | None = None
) -> dict[str, Any]:
    """What a tool answers: `content` is its text, `structured` its JSON object where it gives one.

    Secrets of the configuration are hidden. reach: which addresses may be asked; None: any.
    Raises ForeignServerError, ForeignToolError.
    """

    async def called(client: Client) -> dict[str, Any]:
        result = await client.call_tool(tool, arguments)
        text = "\n".join(part.text for part in result.content if part.type == "text")
        told = server.without_secrets({"content": text})
        if result.is_error:
            raise ForeignToolError(told["content"][:_LONGEST_DESCRIPTION] or say("tool_failed"))
        if isinstance(result.structured_content, dict):
            told["structured"] = server.without_secrets(result.structured_content)
        return dict(told)

    return _asked(server, data_dir, called, reach)


def _asked(
    server: ForeignServer,
    data_dir: Path,
    ask: Callable[[Client], Awaitable[T]],
    reach: Reach | None,
    *,
    errors: TextIO | None = None,
) -> T:
    """What `ask` returns for a client of the server. Raises ForeignServerError and what `ask` raises."""
    # What the library logs may quote the server's configuration.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    try:
        if server.url:
            return asyncio.run(_by_http(server, ask, reach))
        folder = data_dir / FOLDER / server.name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What the server writes beside its answers may hold its secrets.
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
            return asyncio.run(_by_process(server, folder, ask, errors or nowhere))
    except TimeoutError:
        message = say("tool_server_late", server=server.name, seconds=f"{server.seconds:g}")
        raise ForeignServerError(message, reason="timeout") from None
    except Exception as error:  # noqa: BLE001 - whatever a foreign program does is its failure
        known = _tool_error_in(error)
        if known is not None:
            raise known from None
        # The error may quote the server's configuration.
        raise ForeignServerError(say("tool_server_failed", server=server.name)) from None


async def _by_http(server: ForeignServer, ask: Callable[[Client], Awaitable[T]], reach: Reach | None) -> T:
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    from . import http

    transport = http.transport_for(server, reach)
    limit = asyncio.timeout(server.seconds)
    try:
        async with (
            limit,
            http.client_for(server, transport) as connection,
            # It follows a redirect only to the same host, so that the headers go nowhere else.
            Client(streamable_http_client(server.url, http_client=connection)) as client,
        ):
            return await ask(client)
    except Exception as error:
        if limit.expired():  # what failed meanwhile failed by being ended
            raise TimeoutError from None
        # The library tells only that a request has failed.
        if transport.trouble is None or _tool_error_in(error) is not None:
            raise
        code = "tool_server_refused" if transport.trouble == "address_refused" else "tool_server_failed"
        raise ForeignServerError(say(code, server=server.name), reason=transport.trouble) from None


async def _by_process(server: ForeignServer, folder: Path, ask: Callable[[Client], Awaitable[T]], errors: TextIO) -> T:
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    # The limit of processor time is a second net below that of time.
    limits = [str(server.megabytes), str(int(server.seconds) + 1), str(folder), ",".join(server.environ)]
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-I", str(limited.__file__), *limits, *server.command],
        env=server.environ,
        cwd=folder,
    )
    async with asyncio.timeout(server.seconds), Client(stdio_client(parameters, errlog=errors)) as client:
        return await ask(client)


def _tool_error_in(error: BaseException) -> ToolError | None:
    """The error of the tool among the errors of a group of tasks."""
    if isinstance(error, ToolError):
        return error
    inner = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
    return next((found for each in inner if (found := _tool_error_in(each)) is not None), None)


log = logging.getLogger(__name__)
CallOf = Callable[[ToolContext, ForeignServer, str, dict[str, Any]], dict[str, Any]]
"""context, server, name of the tool, arguments → what the tool answers."""
LONGEST_NAME = 64
"""Of a tool, with that of its server: models take no longer ones."""
_ENDING_SECONDS = 10.0


def register_foreign_tools(registry: ToolRegistry, data_dir: Path) -> None:
    """Add the tools of the servers of a data folder; one whose name is taken or too long is logged and left out."""

    def call(_context: ToolContext, server: ForeignServer, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return call_tool(server, data_dir, tool, arguments)

    for server in servers_in(data_dir):
        for each in server.tools:
            name = name_of(server, each)
            if len(name) > LONGEST_NAME or registry.find(name) is not None:
                log.warning("the tool %s of an MCP server is left out: its name is taken or too long", name)
            else:
                registry.register(foreign_tool(server, each, call=call))


def name_of(server: ForeignServer, tool: ForeignTool) -> str:
    """What models call a tool of a foreign server."""
    return f"{server.name}__{tool.name}"


def foreign_tool(server: ForeignServer, described: ForeignTool, *, call: CallOf) -> Tool:
    """A tool that asks a foreign server."""
    return Tool(
        name=name_of(server, described),
        description=described.description,
        parameters={"type": "object", "properties": {}, **described.parameters},
        run=partial(_run, server, described.name, call),
        reads_only=False,
        needs_consent=True,
        is_remote=True,
        seconds=server.seconds + _ENDING_SECONDS,
    )


def _run(server: ForeignServer, tool: str, call: CallOf, context: ToolContext, /, **arguments: Any) -> Result:
    return {"success": True, **call(context, server, tool, arguments)}
