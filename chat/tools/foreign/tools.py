"""Tools of foreign servers in the registry, as `<server>__<tool>`.

Models are offered such tools like any other; each call waits for the person's consent (`chat.tools.proposals`).
"""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path
from typing import Any

from chat.tools.registry import Result, Tool, ToolContext, ToolRegistry

from .calls import call_tool
from .configuration import ForeignServer, ForeignTool, servers_in

log = logging.getLogger(__name__)
_LONGEST_NAME = 64
_ENDING_SECONDS = 10.0


def register_foreign_tools(registry: ToolRegistry, data_dir: Path) -> None:
    """Add the tools of the servers of a data folder; one whose name is taken or too long is logged and left out."""
    for server in servers_in(data_dir):
        for each in server.tools:
            name = f"{server.name}__{each.name}"
            if len(name) > _LONGEST_NAME or registry.find(name) is not None:
                log.warning("the tool %s of an MCP server is left out: its name is taken or too long", name)
            else:
                registry.register(foreign_tool(server, each, data_dir=data_dir))


def foreign_tool(server: ForeignServer, described: ForeignTool, *, data_dir: Path) -> Tool:
    """A tool that asks a foreign server."""
    return Tool(
        name=f"{server.name}__{described.name}",
        description=described.description,
        parameters={"type": "object", "properties": {}, **described.parameters},
        run=partial(_run, server, described.name, data_dir),
        reads_only=False,
        needs_consent=True,
        seconds=server.seconds + _ENDING_SECONDS,
    )


def _run(server: ForeignServer, tool: str, data_dir: Path, context: ToolContext, **arguments: Any) -> Result:
    del context
    return {"success": True, **call_tool(server, data_dir, tool, arguments)}
