"""Which program this is."""

from __future__ import annotations

import platform

import click

from database.migrations import MIGRATIONS
from version import program

from .shell import examples


@click.command("version", epilog=examples("version"))
def command() -> None:
    """Print the version of the program, of the store's schema that it writes, and of Python."""
    click.echo(f"{program()}  schema {len(MIGRATIONS)}  Python {platform.python_version()}")
