"""Foreign MCP servers, whose tools models may call, from the command line: whoever runs it may run any command."""

from __future__ import annotations

import os

import click
from flask.cli import AppGroup
from pydantic import ValidationError

from chat.tools.foreign.configuration import ForeignServer, is_name, keep_servers, servers_in
from chat.tools.foreign.process import ForeignServerError, tools_of
from endpoints.http.scope import current_settings

group = AppGroup("mcp-servers", help="MCP servers whose tools models may call.")
_COUNTS = "It counts from the next start of the server."


@group.command("add", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--env", "names", multiple=True, metavar="VARIABLE", help="A variable of this shell that it is given.")
@click.option("--megabytes", type=click.IntRange(64, 65_536), default=1024, help="Memory of its process.")
@click.option("--seconds", type=click.IntRange(1, 600), default=20, help="How long a call may take.")
def add(name: str, command: tuple[str, ...], names: tuple[str, ...], megabytes: int, seconds: int) -> None:
    """Add the server NAME, run by COMMAND (give -- before it), or replace it. It is started once, to list its tools."""
    if not is_name(name):
        raise click.ClickException("A name has lowercase letters, digits and hyphens, 31 at most.")
    missing = [each for each in names if each not in os.environ]
    if missing:
        raise click.ClickException(f"The variable {missing[0]} is not set.")
    data_dir = current_settings().data_dir
    environ = {each: os.environ[each] for each in names}
    server = ForeignServer(name=name, command=command, environ=environ, megabytes=megabytes, seconds=seconds)
    try:
        server = server.model_copy(update={"tools": tuple(tools_of(server, data_dir))})
    except ForeignServerError as error:
        raise click.ClickException(error.message) from None
    except ValidationError:
        raise click.ClickException(f"The server {name} has a tool whose name can't be used.") from None
    others = tuple(each for each in servers_in(data_dir) if each.name != name)
    keep_servers(data_dir, (*others, server))
    for tool in server.tools:
        click.echo(f"{name}__{tool.name}: {tool.description.partition(chr(10))[0]}")
    click.echo(_COUNTS)


@group.command("list")
def list_servers() -> None:
    """List the servers with their commands and tools; of variables, only which are set."""
    for server in servers_in(current_settings().data_dir):
        click.echo(f"{server.name}: {len(server.tools)} tools, {' '.join(server.command)}")
        for variable in server.environ:
            click.echo(f"  {variable}: set")


@group.command("remove")
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
