"""Exports from the shell: `chat export`, `activity export`, and the archive of an account: `data export`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import click
from flask.cli import with_appcontext

from activity.export import FORMATS, INCLUDED, Export, export
from commands.shell import account_option, errors_as_exit_codes, examples, find_account
from endpoints.export.views import account_source
from endpoints.http.scope import current_settings, current_state
from portability.account_archive import account_archive, archive_name

Command = TypeVar("Command", bound=Callable[..., Any])
_FOLDER = "exports"
_USUAL_LIMIT = 50


def _narrowing(command: Command) -> Command:
    """The options that both commands share."""
    options: tuple[Callable[[Any], Any], ...] = (
        account_option,
        click.option("--room", help="A conversation: its id, friendly id or exact title."),
        click.option("--thread-id", "--threadId", "--thread", "thread", help="A thread id."),
        click.option(
            "--after", help="An activity, by its short id or uuid; it is printed too, before what followed it."
        ),
        click.option(
            "--limit",
            type=click.IntRange(min=1),
            default=_USUAL_LIMIT,
            show_default=True,
            help="The newest so many; with --after, the next so many.",
        ),
        click.option("--format", "fmt", type=click.Choice(FORMATS), default="markdown", show_default=True),
        click.option("--include", callback=_kinds, help=f"Some of {', '.join(INCLUDED)}, separated by commas."),
        click.option(
            "--output", help="The file to write; a relative path lies in the exports folder. Standard output otherwise."
        ),
        click.option("--force", is_flag=True, help="Replace a file that is there."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _kinds(_context: click.Context, _option: click.Parameter, value: str | None) -> list[str] | None:
    if value is None:
        return None
    kinds = [kind.strip() for kind in value.split(",") if kind.strip()]
    if not kinds or not set(kinds) <= set(INCLUDED):
        raise click.BadParameter(f"use some of {', '.join(INCLUDED)}, separated by commas")
    return kinds


@click.command(
    "export",
    epilog=examples(
        "chat export --room general --limit 100 > general.md",
        "chat export --room general --after '#a1b2c3' --limit 20 --output pooling-discussion.md",
        "chat export --thread-id 5e71a0c8-0303-4eb8-a478-3a121248abcd --format json",
    ),
)
@_narrowing
@with_appcontext
def export_chat(**options: Any) -> None:
    """Export a conversation, a thread, or what of a thread lies in a conversation.

    With --output the path of the file is printed.
    """
    _write(**options)


@click.command(
    "export",
    epilog=examples(
        "activity export --recipe castle-defense-game --output game-session.md",
        "activity export --recipe data-pipeline --room general --format json",
    ),
)
@click.option("--recipe", required=True, help="The domain of a recipe.")
@_narrowing
@with_appcontext
def export_recipe(**options: Any) -> None:
    """Export what happened in a recipe's domain, in a section for each kind.

    With --output the path of the file is printed.
    """
    _write(**options)


def _write(*, email: str | None, output: str | None, force: bool, **filters: Any) -> None:
    state = current_state()
    file = None if output is None else _output_file(output, force=force)
    with errors_as_exit_codes():
        user_email = find_account(state.database, email)
        made = export(user_email, database=state.database, recipes=state.recipes, **filters)
        if file is None:
            _print(made)
            return
        try:
            _store(made.chunks, file, makes_folder=True)
        except OSError as error:
            raise click.ClickException(f"The file can't be written: {error.strerror or error}.") from None
    click.echo(file)


def _print(made: Export) -> None:
    for chunk in made.chunks:
        sys.stdout.buffer.write(chunk)
    sys.stdout.flush()


def _output_file(name: str, *, force: bool) -> Path:
    """The file that `--output` names. Raises UsageError where it may not be written."""
    path = Path(name)
    if ".." in path.parts:
        raise click.UsageError("--output may not lead upwards (..).")
    folder = (current_settings().data_dir / _FOLDER).resolve()
    file = path if path.is_absolute() else folder / path
    if not path.is_absolute() and not file.resolve().is_relative_to(folder):
        raise click.UsageError(f"--output leads out of {folder}.")
    if file.is_dir():
        raise click.UsageError(f"{file} is a folder.")
    if file.exists() and not force:
        raise click.UsageError(f"{file} is there already; --force replaces it.")
    return file


def _store(chunks: Iterable[bytes], file: Path, *, makes_folder: bool = False) -> None:
    """Write the file whole, or not at all; only its owner may read it."""
    draft = None
    try:
        if makes_folder:
            file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".export-", delete=False) as written:
            draft = Path(written.name)
            for chunk in chunks:
                written.write(chunk)
        draft.replace(file)
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


@click.command(
    "export",
    epilog=examples("data export --email ada@example.org", "data export /mnt/archives/ada.zip --force"),
)
@click.argument("target", default=".", type=click.Path(path_type=Path))
@account_option
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@with_appcontext
def export_account(target: Path, email: str | None, force: bool) -> None:
    """Write everything of one account to TARGET, a ZIP, or a folder in which the file gets a name.

    The ZIP holds conversations, memories, documents and settings; open its index.html to read them. Keys of tool
    servers, passwords and tokens are not in it. A server may keep running.
    """
    with errors_as_exit_codes():
        user_email = find_account(current_state().database, email)
        file = target / archive_name(user_email) if target.is_dir() else target
        if file.exists() and not force:
            raise click.UsageError(f"{file} is there already; --force replaces it.")
        if not file.parent.is_dir():
            raise click.ClickException(f"There is no folder {file.parent}.")
        with click.progressbar(length=0, label="Conversations") as bar:

            def progress(_done: int, total: int) -> None:
                bar.length = total
                bar.update(1)

            _store(account_archive(account_source(user_email), progress=progress), file)
    click.echo(f"{file} holds everything of {user_email} ({file.stat().st_size / 1e6:.1f} MB).")
