"""Documents from the command line."""

from __future__ import annotations

from pathlib import Path

import click
from flask.cli import AppGroup

from database.errors import StoreError
from endpoints.http.scope import current_state
from language_models.errors import ModelError
from vault.documents import Vault
from vault.graph import graph_of
from vault.importing import import_files, packed_files

group = AppGroup("vault", help="A person's documents.")

_email = click.option("--email", required=True, help="Whose documents.")


@group.command("index")
@click.option("--email", help="Whose documents; everybody's when left out.")
@click.option("--full", is_flag=True, help="Read also the files that seem unchanged.")
def index(email: str | None, full: bool) -> None:
    """Bring the index up to date with the files, and make the vectors that are missing."""
    vaults = current_state().vaults
    try:
        for vault in [_vault(email)] if email else vaults.existing():
            written = removed = total = 0
            for part in vault.refresh(is_full=full):
                written, removed, total = written + part.written, removed + part.removed, part.total
            click.echo(f"{vault.user_email}: {total} documents, {written} read, {removed} gone.")
        made = vaults.vectors.embed_pending()
    except (StoreError, ModelError) as error:
        raise click.ClickException(error.message) from None
    click.echo(f"Vectors were made for {made} documents.")


@group.command("status")
@_email
def status(email: str) -> None:
    """Say where the documents lie, how far the index is, and which links lead nowhere."""
    vault = _vault(email)
    progress, graph = vault.progress(), graph_of(vault)
    click.echo(f"{vault.root}{' (read only)' if vault.read_only else ''}")
    click.echo(f"{progress.documents} documents, {progress.embedded} of them found by meaning too.")
    click.echo(f"{len(graph.edges)} links between documents, {len(graph.broken)} broken, {len(graph.orphans)} orphans.")
    for link in graph.broken:
        click.echo(f"{link.source}:{link.line}: {link.wikilink}")


@group.command("import")
@_email
@click.option("--folder", default="", help="The folder of the vault that takes them.")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def import_documents(email: str, folder: str, files: tuple[Path, ...]) -> None:
    """Import Markdown files, and the Markdown files of ZIP archives; no document is replaced."""
    try:
        with packed_files([(file.name, file.open("rb")) for file in files]) as found:
            report = import_files(_vault(email), found, folder=folder)
    except StoreError as error:
        raise click.ClickException(error.message) from None
    for path, why in report.refused:
        click.echo(f"{path}: {why.message}", err=True)
    click.echo(f"{len(report.imported)} documents were imported, {len(report.unchanged)} were there already.")


def _vault(email: str) -> Vault:
    try:
        return current_state().vaults.of(email.strip().lower())
    except StoreError as error:
        raise click.ClickException(error.message) from None
