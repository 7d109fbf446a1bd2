"""Documents from the command line."""

from __future__ import annotations

from pathlib import Path

import click

from endpoints.http.scope import current_state
from vault.documents import Vault, graph_of
from vault.importing import import_files, packed_files

from .shell import CommandGroup, account_option, errors_as_exit_codes, examples, find_account

group = CommandGroup("vault", help="A person's documents.")


@group.command("index", epilog=examples("vault index", "vault index --email ada@example.org --full"))
@click.option("--email", help="Whose documents; everybody's when left out.")
@click.option("--full", is_flag=True, help="Read also the files that seem unchanged.")
def index(email: str | None, full: bool) -> None:
    """Bring the index up to date with the files, and make the vectors that are missing."""
    vaults = current_state().vaults
    with errors_as_exit_codes():
        for vault in [_vault(email)] if email else vaults.existing():
            written = removed = total = 0
            for part in vault.refresh(is_full=full):
                written, removed, total = written + part.written, removed + part.removed, part.total
            click.echo(f"{vault.user_email}: {total} documents, {written} read, {removed} gone.")
        made = vaults.vectors.embed_pending()
    click.echo(f"Vectors were made for {made} documents.")


@group.command("status", epilog=examples("vault status"))
@account_option
def status(email: str | None) -> None:
    """Say where the documents lie, how far the index is, and which links lead nowhere."""
    with errors_as_exit_codes():
        vault = _vault(email)
        progress, graph = vault.progress(), graph_of(vault)
    click.echo(f"{vault.root}{' (read only)' if vault.read_only else ''}")
    click.echo(f"{progress.documents} documents, {progress.embedded} of them found by meaning too.")
    click.echo(f"{len(graph.edges)} links between documents, {len(graph.broken)} broken, {len(graph.orphans)} orphans.")
    for link in graph.broken:
        click.echo(f"{link.source}:{link.line}: {link.wikilink}")


@group.command("import", epilog=examples("vault import notes.zip garden.md --folder imported"))
@account_option
@click.option("--folder", default="", help="The folder of the vault that takes them.")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def import_documents(email: str | None, folder: str, files: tuple[Path, ...]) -> None:
    """Import Markdown files, and the Markdown files of ZIP archives; no document is replaced.

    Exit code 1 where one was refused.
    """
    with errors_as_exit_codes():
        vault = _vault(email, writes=True)
        with packed_files([(file.name, file.open("rb")) for file in files]) as found:
            report = import_files(vault, found, folder=folder)
    for path, why in report.refused:
        click.echo(f"{path}: {why.message}", err=True)
    others = f" {report.passed_over} other files were passed over." if report.passed_over else ""
    click.echo(f"{len(report.imported)} documents were imported, {len(report.unchanged)} were there already.{others}")
    if report.refused:
        raise SystemExit(1)


def _vault(email: str | None, *, writes: bool = False) -> Vault:
    state = current_state()
    return state.vaults.of(find_account(state.database, email, writes=writes))
