"""The archive of an account from the command line: `data export`."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click
from flask.cli import with_appcontext

from endpoints.export.views import account_source
from endpoints.http.scope import current_state
from portability.account_archive import Progress, account_archive, archive_name

from .shell import account_option, errors_as_exit_codes, examples, find_account


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
        with click.progressbar(length=0, label="Conversations") as bar:

            def progress(_done: int, total: int) -> None:
                bar.length = total
                bar.update(1)

            _write(file, user_email, progress)
    click.echo(f"{file} holds everything of {user_email} ({file.stat().st_size / 1e6:.1f} MB).")


def _write(file: Path, user_email: str, progress: Progress) -> None:
    """Write the file whole, or not at all; only its owner may read it."""
    draft = None
    try:
        with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".archive-", delete=False) as written:
            draft = Path(written.name)
            for chunk in account_archive(account_source(user_email), progress=progress):
                written.write(chunk)
        draft.replace(file)
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)
