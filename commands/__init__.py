"""The command line: `flask --app server <group> <command>`."""

from __future__ import annotations

from typing import NoReturn

import click
from flask import Flask
from flask.cli import FlaskGroup, run_command
from flask.helpers import get_debug_flag

from activity.recipes.errors import RecipePluginError
from chat.runtime.startup import ServerProcess, ServerRunningError
from database.engine.errors import StoreError
from settings import SettingsError

from . import activity, agents, bench, data, inbox, mcp, mcp_servers, migrate, models, users, vault, version
from .chat import exports, messages, terminal


def register(app: Flask) -> None:
    """Add our groups of commands to `app`."""
    groups = (
        users.group,
        agents.group,
        inbox.group,
        data.group,
        mcp_servers.group,
        models.group,
        bench.group,
        vault.group,
        activity.group,
        activity.recipes_group,
    )
    for group in groups:
        app.cli.add_command(group)
    for command in (messages.send, messages.poll, exports.export_chat):
        terminal.group.add_command(command)
    activity.group.add_command(exports.export_recipe)
    data.group.add_command(exports.export_account)
    data.group.add_command(migrate.migrate)
    app.cli.add_command(terminal.group)
    app.cli.add_command(mcp.command)
    app.cli.add_command(version.command)


def begin_serving_now(server: ServerProcess) -> None:
    """Under `flask run`: become the server of the data folder before the first request, or exit with the reason.

    With the reloader, the serving process is a child of this one and begins with its first request.
    """
    context = click.get_current_context(silent=True)
    if context is None or context.command is not run_command:
        return
    reload = context.params.get("reload")
    if get_debug_flag() if reload is None else reload:
        return
    try:
        server.begin()
    except (ServerRunningError, StoreError) as error:
        raise click.ClickException(str(error)) from None


def register_what_mends(app: Flask, error: StoreError) -> Flask:
    """Where the store can't be opened: `app` with only the commands that verify and restore data.

    Only when started from the command line; a server gets `error` raised.
    """
    context = click.get_current_context(silent=True)
    if context is None or not isinstance(context.command, FlaskGroup):
        raise error
    click.echo(f"{error.message} Only the commands of `data`, and `version`, are there.", err=True)
    data.group.add_command(migrate.migrate)
    app.cli.add_command(data.group)
    app.cli.add_command(version.command)
    return app


def refuse(error: RecipePluginError | SettingsError) -> NoReturn:
    """Exit a command with one line where recipes or settings can't be used; a server gets `error` raised."""
    if click.get_current_context(silent=True) is None:
        raise error
    raise click.ClickException(str(error)) from None
