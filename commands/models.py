"""Embedded models from the command line: what there is, fetching it, checking it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from database.accounts.audit import COMMAND_LINE, record_act
from endpoints.http.scope import current_state
from language_models.download.catalogue import CatalogueEntry, entries, entry_named
from language_models.download.fetch import fetch, is_here, is_whole
from language_models.errors import ModelUnavailableError

from .shell import CommandGroup, examples

group = CommandGroup("models", help="The embedded models.")


@group.command("list", epilog=examples("models list"))
def list_models() -> None:
    """List the models of the catalogue."""
    for entry in entries():
        here = "here" if is_here(entry, folder=_folder()) else "not fetched"
        names = ", ".join((entry.name, *entry.aliases))
        click.echo(f"{names}: {_size(entry)}, {entry.ram_gib:g} GiB of memory, {entry.licence}, {here}")


@group.command("pull", epilog=examples("models pull", "models pull small"))
@click.argument("name", default="")
def pull(name: str) -> None:
    """Fetch the model NAME (the default one without a name); what has arrived before is not fetched again."""
    entry = _entry(name)
    was_here = is_here(entry, folder=_folder())
    with click.progressbar(length=entry.whole_size, label=f"{entry.name} ({_size(entry)})") as bar:
        done = 0

        def progress(now: int, _whole: int) -> None:
            nonlocal done
            bar.update(now - done)
            done = now

        try:
            path = fetch(entry, folder=_folder(), progress=progress)
        except ModelUnavailableError as error:
            raise click.ClickException(error.message) from None
        progress(entry.whole_size, entry.whole_size)
    if not was_here:
        act = partial(record_act, by=COMMAND_LINE, act="model_fetched", subject=entry.name)
        current_state().database.write(act)
    click.echo(str(path))


@group.command("check", epilog=examples("models check small"))
@click.argument("name", default="")
def check(name: str) -> None:
    """Read the model NAME (the default one without a name) and compare its hash with the catalogue's."""
    entry = _entry(name)
    try:
        whole = is_whole(entry, folder=_folder(), thorough=True)
    except OSError as error:
        raise click.ClickException(f"{_folder() / entry.file} can't be read: {error.strerror}.") from None
    if not whole:
        advice = f"`flask --app server models pull {entry.name}` fetches it."
        raise click.ClickException(f"{entry.name} is not here, or is damaged. {advice}")
    click.echo(f"{entry.name} is whole.")


def _entry(name: str) -> CatalogueEntry:
    try:
        return entry_named(name)
    except ValueError as error:
        raise click.ClickException(str(error)) from None


def _folder() -> Path:
    return current_state().settings.model_dir


def _size(entry: CatalogueEntry) -> str:
    size = entry.whole_size
    return f"{size / 1e9:.2f} GB" if size >= 100_000_000 else f"{size / 1e6:.0f} MB"
