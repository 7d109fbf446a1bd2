"""Foreign MCP servers, whose tools models may call, from the command line: whoever runs it may run any command."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections import deque
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from chat.tools.foreign.calls import ForeignServerError, tools_of
from chat.tools.foreign.configuration import ForeignServer, ForeignTool, is_name, keep_servers, servers_in
from endpoints.http.scope import current_settings

from .shell import CommandGroup, examples, printable

group = CommandGroup("mcp-servers", help="MCP servers whose tools models may call.")
_HEADER = "A header of each request, whose value a variable of this shell holds."
_LINES_SHOWN = 5
_ADVICE = {
    "unreachable": "Nothing answers at its address.",
    "unauthorized": "It wants other credentials: --header NAME=VARIABLE gives them.",
    "timeout": "--seconds gives it more time.",
}
_COUNTS = "It counts from the next start of the server."


def _named_headers(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """The variables that hold the values of headers, by the names of the headers."""
    found = {}
    for each in given:
        header, _, variable = each.partition("=")
        if not re.fullmatch(r"[A-Za-z0-9-]{1,100}", header) or not variable:
            raise click.BadParameter("A header is NAME=VARIABLE.")
        found[header] = variable
    return found


@group.command(
    "add",
    context_settings={"ignore_unknown_options": True},
    epilog=examples(
        "mcp-servers add time -- uvx mcp-server-time",
        "mcp-servers add search --env SEARCH_KEY -- npx -y search-server",
        "mcp-servers add notes --url https://notes.example.org/mcp --header Authorization=NOTES_AUTHORIZATION",
    ),
)
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", default="", help="The address of a server that answers over HTTP, in the place of a command.")
@click.option("--header", "headers", multiple=True, callback=_named_headers, metavar="NAME=VARIABLE", help=_HEADER)
@click.option("--env", "names", multiple=True, metavar="VARIABLE", help="A variable of this shell that it is given.")
@click.option("--megabytes", type=click.IntRange(64, 65_536), default=1024, help="Memory of its process.")
@click.option("--seconds", type=click.IntRange(1, 600), default=20, help="How long a call may take.")
def add(name: str, names: tuple[str, ...], headers: dict[str, str], **more: Any) -> None:
    """Add the server NAME, run by COMMAND (give -- before it) or asked at --url, or replace it.

    It is asked once, to list its tools.
    """
    if not is_name(name):
        raise click.ClickException("A name has lowercase letters, digits and hyphens, 31 at most.")
    missing = [each for each in (*names, *headers.values()) if each not in os.environ]
    if missing:
        raise click.ClickException(f"The variable {missing[0]} is not set.")
    data_dir = current_settings().data_dir
    secrets = {
        "environ": {each: os.environ[each] for each in names},
        "headers": {header: os.environ[variable] for header, variable in headers.items()},
    }
    try:
        server = ForeignServer.model_validate({"name": name, **secrets, **more})
    except ValidationError:
        message = "Give either --url, which is http(s)://host/path, or a command behind --."
        raise click.ClickException(message) from None
    server = server.model_copy(update={"tools": _offered(server, data_dir)})
    others = tuple(each for each in servers_in(data_dir) if each.name != name)
    keep_servers(data_dir, (*others, server))
    for tool in server.tools:
        click.echo(f"{name}__{tool.name}: {tool.description.partition(chr(10))[0]}")
    click.echo(_COUNTS)


def _offered(server: ForeignServer, data_dir: Path) -> tuple[ForeignTool, ...]:
    """The tools of a server that is asked for the first time. Raises ClickException, which says why it has failed."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        try:
            return tuple(tools_of(server, data_dir, errors=said))
        except ForeignServerError as error:
            said.seek(0)
            missing = _missing_program(server)
            if missing:
                raise click.ClickException(f"There is no program {missing}.") from None
            last = printable("".join(deque(said, maxlen=_LINES_SHOWN))).rstrip()
            told = [error.message, _advice(server, error), str(server.without_secrets(last))]
            raise click.ClickException("\n".join(filter(None, told))) from None


def _missing_program(server: ForeignServer) -> str | None:
    """The program of a server, where there is none of this name."""
    return server.command[0] if server.command and shutil.which(server.command[0]) is None else None


def _advice(server: ForeignServer, error: ForeignServerError) -> str:
    if server.url and error.reason == "failed":
        return f"What answers at {server.url} is no MCP server, or its answer was not understood."
    return _ADVICE.get(error.reason, "")


@group.command("list", epilog=examples("mcp-servers list"))
def list_servers() -> None:
    """List the servers with their commands or addresses, and how many tools; of secrets, only which are set."""
    servers = servers_in(current_settings().data_dir)
    if not servers:
        click.echo("There are none yet: `mcp-servers add --help` says how to add one.", err=True)
    for server in servers:
        click.echo(f"{server.name}: {len(server.tools)} tools, {server.address}")
        for variable in (*server.environ, *server.headers):
            click.echo(f"  {variable}: set")


@group.command("remove", epilog=examples("mcp-servers remove time"))
@click.argument("name")
def remove(name: str) -> None:
    """Remove the server NAME with its tools."""
    data_dir = current_settings().data_dir
    servers = servers_in(data_dir)
    kept = tuple(each for each in servers if each.name != name)
    if len(kept) == len(servers):
        raise click.ClickException(f"There is no server {name}.")
    keep_servers(data_dir, kept)
    click.echo(f"{name} is removed. {_COUNTS}")
