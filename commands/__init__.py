"""The command line: `flask --app server <group> <command>`."""

from __future__ import annotations

import click
from flask import Flask
from flask.cli import FlaskGroup

from database.errors import StoreError

from . import bench, data, models, users


def register(app: Flask) -> None:
    """Add our groups of commands to `app`."""
    for group in (users.group, data.group, models.group, bench.group):
        app.cli.add_command(group)


def register_what_mends(app: Flask, error: StoreError) -> Flask:
    """Where the store can't be opened: `app` with the commands that look through one or put a backup in its place.

    Only while the command line asks for commands; for whoever would serve, `error` is raised.
    """
    context = click.get_current_context(silent=True)
    if context is None or not isinstance(context.command, FlaskGroup):
        raise error
    click.echo(f"{error.message} Only the commands of `data` are there.", err=True)
    app.cli.add_command(data.group)
    return app
