"""The command line: `flask --app server <group> <command>`."""

from __future__ import annotations

from flask import Flask

from . import bench, data, models, users


def register(app: Flask) -> None:
    """Add our groups of commands to `app`."""
    for group in (users.group, data.group, models.group, bench.group):
        app.cli.add_command(group)
