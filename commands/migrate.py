"""`flask data migrate`: moving both stores to another kind of database, with a report."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import click
from flask.cli import with_appcontext

from chat.runtime.startup import ServerRunningError
from database.accounts.audit import COMMAND_LINE, note_act
from database.engine.errors import StoreError
from endpoints.http.scope import current_settings
from portability.engines import Place, TableCount, opened_stores, place_at, plan_transfer, transfer
from portability.errors import BackupError
from truth_management_system.interface.structured_api import KnowledgeError

from .shell import examples

_SHOWN_EVERY = 0.5
_DIGITS = 16
_ANEW = "\r\x1b[K"
_SAID = {"compare": "Comparing", "copy": "Copying", "index": "Indexing"}


@click.command(
    "migrate",
    epilog=examples(
        "data migrate --to postgresql+psycopg://anaphora:secret@db.example.org/anaphora --dry-run",
        "data migrate --to postgresql+psycopg://anaphora:secret@db.example.org/anaphora",
        "data migrate --from postgresql+psycopg://anaphora@/anaphora --to sqlite:///srv/anaphora",
    ),
)
@click.option(
    "--to",
    "to_url",
    required=True,
    help="postgresql+psycopg://… or sqlite://<data folder>, empty; the folder by its whole path.",
)
@click.option("--from", "from_url", help="Likewise; by default where this server's stores are.")
@click.option("--dry-run", is_flag=True, help="Say what would be copied, and check that the target is empty.")
@with_appcontext
def migrate(to_url: str, from_url: str | None, dry_run: bool) -> None:
    """Copy everything that is stored from SQLite to PostgreSQL, or back. Ids stay; the source stays as it is.

    A server may go on working on the source until all that is there has been copied. Then this asks for it to be
    stopped, waits, copies what came since, compares every row, and prints a report. Interrupted, it goes on when it is
    run again. No server starts on the target before everything is there. Files of the data folder are not copied.
    """
    settings = current_settings()
    try:
        target = place_at(to_url, data_dir=settings.data_dir)
        here = Place(settings.data_dir, settings.database_url)
        source = place_at(from_url, data_dir=settings.data_dir) if from_url else here
        click.echo(f"From {source.name} to {target.name}.", err=True)
        if dry_run:
            _report(plan_transfer(source, target))
            click.echo(f"{target.name} is empty: all this would be copied there.")
            return
        listener = _Shown()
        found = transfer(source, target, listener=listener)
        listener.end()
        _report([TableCount(each.store, each.table, each.rows) for each in found], [each.digest for each in found])
        click.echo(f"Every row of {source.name} is in {target.name}, and equal.")
        _note(source, target, rows=sum(each.rows for each in found))
    except (StoreError, KnowledgeError, BackupError) as error:
        raise click.ClickException(error.message) from None
    except ServerRunningError as error:
        raise click.ClickException(str(error)) from None


def _note(source: Place, target: Place, *, rows: int) -> None:
    """Note in the audit log of the target from where its rows came."""
    with opened_stores(target) as stores:
        database = stores[0].database
        note_act(database=database, by=COMMAND_LINE, act="store_moved", subject=source.name, details={"rows": rows})


def _report(counts: Sequence[TableCount], digests: Sequence[str] = ()) -> None:
    for number, each in enumerate(counts):
        digest = f"  {digests[number][:_DIGITS]}" if digests else ""
        click.echo(f"{each.store:14}{each.table:30}{each.rows:>12,}{digest}")
    click.echo(f"{sum(each.rows for each in counts):,} rows in {len(counts)} tables.")


class _Shown:
    """Shows how a transfer goes on, in one line that is written anew; without a terminal, a line for each table."""

    def __init__(self) -> None:
        self._totals: dict[str, int] = {}
        self._at: tuple[str, str] = ("", "")
        self._done = 0
        self._begun = self._shown = time.monotonic()

    def round_begins(self, tables: Sequence[TableCount]) -> None:
        """Begin to count anew."""
        self._totals = {each.table: each.rows for each in tables}

    def rows(self, step: str, table: str, count: int) -> None:
        """Show how far a table is."""
        if (step, table) != self._at:
            self.end()
            self._at, self._done, self._begun = (step, table), 0, time.monotonic()
        self._done += count
        if sys.stderr.isatty() and time.monotonic() - self._shown > _SHOWN_EVERY:
            self._shown = time.monotonic()
            click.echo(f"{_ANEW}{self._line()}", err=True, nl=False)

    def waits(self) -> None:
        """Ask for the server to be stopped."""
        self.end()
        click.echo("All that was there is copied. Stop the server now: what came since is copied then.", err=True)

    def end(self) -> None:
        """Show the last line of a table as it stays."""
        if self._done:
            click.echo(f"{_ANEW if sys.stderr.isatty() else ''}{self._line()}", err=True)
        self._done = 0

    def _line(self) -> str:
        step, table = self._at
        seconds = max(time.monotonic() - self._begun, 1e-3)
        pace = self._done / seconds
        total = max(self._totals.get(table, 0), self._done)
        left = (total - self._done) / pace if pace else 0.0
        return f"{_SAID[step]} {table}: {self._done:,} of {total:,}, {pace:,.0f} rows a second, {left:,.0f} s left"
