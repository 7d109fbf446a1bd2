"""Tools of foreign servers in the registry, as `<server>__<tool>`.

Models are offered such tools like any other; each call waits for the person's consent (`chat.tools.proposals`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from chat.tools.registry import Result, Tool, ToolContext, ToolRegistry

from .calls import call_tool
from .configuration import ForeignServer, ForeignTool, servers_in

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
