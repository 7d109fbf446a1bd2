"""Backing up, checking and repairing the stores from the command line."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from attachments.storage import Attachments
from attachments.verification import verify_attachments
from chat.context.knowledge import close_knowledge, knowledge_in
from chat.runtime.startup import held_data_folder
from database.accounts.audit import COMMAND_LINE, Act, note_act
from database.accounts.users import any_user_exists, get_user, user_ids
from database.connection import open_store
from database.conversations.friendly_ids import backfill_friendly_ids
from database.conversations.listing import domains_of
from database.engine.clock import iso_in
from database.engine.database import Database
from database.engine.errors import OnlyWithSQLiteError, StoreError
from database.imports.repository import get_import
from database.maintenance.findings import Finding
from database.maintenance.verification import repair_store, verify_file
from database.search.indexing import newest_seq, reindex_messages
from database.search.owned import refill
from endpoints.http.scope import current_settings, current_state
from portability.backup import ACCOUNTS, BACKUP_SCRATCH, KNOWLEDGE, Progress, back_up
from portability.engines import Place, copy_stores
from portability.errors import BrokenImportError
from portability.imports.accepting import accept_file
from portability.imports.documents import DocumentStore, documents_to_learn_from
from portability.imports.files import FileStore
from portability.imports.parts import PartStore
from portability.imports.runner import FOLDER as UPLOADS
from portability.imports.runner import ImportRunner
from portability.restoring import is_incomplete, restore
from portability.scratch import scratch_folder
from truth_management_system import PKBDatabase
from truth_management_system.interface.structured_api import (
    reindex_knowledge,
    repair_knowledge,
    verify_knowledge,
)
from vault.documents import Vaults
from vault.upkeep import RULE as DOCUMENTS
from vault.upkeep import mend_vaults, verify_vaults

from .shell import CommandGroup, examples, one_line_errors

group = CommandGroup("data", help="What is stored.")
_THOUSANDTHS = 1_000
_MOST_DAYS = 36_500
_ALL_BUT_INDEXES = "Nothing is wrong. `pg_amcheck` checks the indexes of the database."
_NOTHING_THERE = "{} holds no account. Is it the one of your server? ANAPHORA_DATA_DIR and DATABASE_URL name it."


@group.command("backfill", epilog=examples("data backfill", "data backfill --email ada@example.org"))
@click.option("--email", help="Whose conversations; all users' when left out.")
@click.option("--domain", help="Of which domain; of all when left out.")
def backfill(email: str | None, domain: str | None) -> None:
    """Give old conversations their friendly ids, and old messages their hashes."""
    count = 0
    with one_line_errors():
        database = open_store(current_settings().users_dir)
        owners = (
            [get_user(database=database, user_email=email).user_email]
            if email
            else user_ids(database=database, closed=False)
        )
        for owner in owners:
            domains = [domain] if domain else domains_of(database=database, user_email=owner)
            for each in domains:
                count += backfill_friendly_ids(database=database, user_email=owner, domain=each, all_messages=True)
    click.echo(f"{count} conversations were given what they lacked.")


@group.command("backup", epilog=examples("data backup /mnt/backups"))
@click.argument("target", default=".", type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def backup(target: Path, force: bool) -> None:
    """Write a backup to TARGET, a file, or a folder in which the file gets a name; by default the current one.

    A server may keep running, with SQLite and PostgreSQL alike. The backup holds accounts, conversations, memories,
    documents, files and the secret key of this installation, so protect it as you protect those; models, and folders of
    documents that you mapped, are not in it.
    """
    settings = current_settings()
    if _is_empty():
        raise click.ClickException(f"There is nothing to back up: {_NOTHING_THERE.format(_where())}")
    copied = None if _is_sqlite() else partial(copy_stores, Place(settings.data_dir, settings.database_url))
    with one_line_errors(), _progress("Backing up") as progress:
        file = back_up(settings.data_dir, target, copy_stores=copied, force=force, progress=progress)
    click.echo(f"{file} holds everything ({file.stat().st_size / 1e6:.1f} MB).")


@group.command("restore", epilog=examples("data restore /mnt/backups/anaphora.zip"))
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Also where there is data, which is kept beside.")
def restore_backup(file: Path, force: bool) -> None:
    """Restore the backup FILE into the data folder and the database. No server may be running on them.

    With DATABASE_URL accounts, conversations and memories go into that database, whichever kind the backup was made of.
    """
    settings = current_settings()
    data_dir, url = settings.data_dir, settings.database_url
    with one_line_errors(), held_data_folder(data_dir), _progress("Restoring") as progress:
        restored = restore(file, data_dir=data_dir, database_url=url, force=force, progress=progress)
    click.echo(f"{data_dir} holds what was backed up at {restored.created_at}.")
    if restored.former is not None:
        click.echo(f"What was there before lies in {restored.former}.")
    _note_act("store_restored", file.name, made=restored.created_at)


@group.command("import", epilog=examples("data import conversations.zip --email ada@example.org"))
@click.option("--email", required=True, help="Into whose account.")
@click.argument("files", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
def import_files(email: str, files: tuple[Path, ...]) -> None:
    """Import history: exports of ChatGPT, Claude, Open WebUI and others, those of this program, files or folders.

    Of a pkb.sqlite of the first implementation, each memory counts; of one of several people, only those of this
    address come along.

    Imported again, a file adds only what is new. Where a file can't be read, or nothing of it could be imported, the
    others are imported, and the exit status is 1.

    A server may keep running. An import that is interrupted goes on by the server, or when it is resumed on the page;
    the page also shows its report, and takes it back.
    """
    with one_line_errors():
        database = open_store(current_settings().users_dir)
        user_email = get_user(database=database, user_email=email).user_email
        uploads = current_settings().data_dir / UPLOADS
        with closing(
            ImportRunner(
                database=database,
                uploads=uploads,
                store_document=DocumentStore(_vaults(), database=database),
                store_part=PartStore(database=database, memories=current_state().knowledge.for_user),
                store_files=FileStore(current_state().attachments),
                share=1.0,
                process="command",
            )
        ) as runner:
            brought = [_import_file(file, runner, database=database, user_email=user_email) for file in files]
    if not all(brought):
        raise SystemExit(1)


def _import_file(file: Path, runner: ImportRunner, *, database: Database, user_email: str) -> bool:
    """Import a file, and say what came of it; whether it did more than fail."""
    own: dict[str, Any] = {"database": database, "user_email": user_email}
    try:
        # Leased as it is added: a server that runs would begin it before this process does.
        which = accept_file(file, name=file.name, state="running", owner=runner.owner, **own)
    except BrokenImportError as error:
        click.echo(f"Error: {file}: {error.message}", err=True)
        return False
    while which.state == "running":
        is_ours = runner.run_due(import_id=which.import_id) is not None
        which = get_import(**own, import_id=which.import_id)
        if not is_ours:  # another process has it
            break
        if sys.stderr.isatty():
            click.echo(f"\r{file.name}: {which.done:,} messages", err=True, nl=which.state != "running")
    for each in which.failures:
        click.echo(f"{file}: {each['item']}: {each['reason']}", err=True)
    if which.state != "done":
        click.echo(f"Error: {file}: {which.error or f'The import is {which.state}.'}", err=True)
        return False
    counts = {"imported": which.imported, "updated": which.updated, "unchanged": which.skipped, "failed": which.failed}
    click.echo(f"{file}: {', '.join(f'{count} {what}' for what, count in counts.items())}.")
    for path in documents_to_learn_from(which, vaults=_vaults()):
        click.echo(f"{file}: {path} is a text to learn from: the import in the settings finds memories in it.")
    # What failed counts as unchanged, too.
    return bool(which.imported or which.updated) or not which.failed or which.skipped > which.failed


@group.command("verify", epilog=examples("data verify", "data verify --repair"))
@click.option("--repair", is_flag=True, help="Rebuild derived data: counts, references, indexes.")
def verify(repair: bool) -> None:
    """Check the invariants of both stores, of the vaults and of the files of messages.

    One line for each finding; exit status 1 for any.

    A server may keep running. A million messages take some minutes. Of a PostgreSQL database, a copy of the rows is
    checked, which needs room in the data folder; its indexes are not, and what is wrong with rows is not repaired.
    """
    wrong = _print_findings(_findings())
    if wrong and repair:
        with one_line_errors():
            for done in _repairs({finding.rule for finding in wrong if finding.derived}):
                click.echo(f"repaired: {done}")
        wrong = _print_findings(_findings())
    if wrong:
        mendable = sum(finding.derived for finding in wrong)
        advice = f" --repair makes {mendable} of them anew." if mendable and not repair else ""
        raise click.ClickException(f"{len(wrong)} findings.{advice}")
    click.echo("Nothing is wrong." if _is_sqlite() else _ALL_BUT_INDEXES)
    if _is_empty():
        click.echo(f"But {_NOTHING_THERE.format(_where())}")


@group.command("reindex", epilog=examples("data reindex", "data reindex --messages"))
@click.option("--messages", is_flag=True, help="Only the index of messages.")
@click.option("--documents", is_flag=True, help="Only the indexes of documents and of the files of messages.")
@click.option("--claims", is_flag=True, help="Only the indexes of memories.")
def reindex(messages: bool, documents: bool, claims: bool) -> None:
    """Rebuild the full-text indexes; without options, all of them.

    A server may keep running, and searches keep working: of messages that are not indexed again yet they find the
    newest, documents and files are found as they are indexed again. If this is interrupted, the server or the next run
    continues.
    """
    are_all = not (messages or documents or claims)
    with one_line_errors():
        if messages or are_all:
            _reindex_messages(open_store(current_settings().users_dir))
        if documents or are_all:
            for _ in refill(database=open_store(current_settings().users_dir)):
                pass
            click.echo("Documents and files are indexed anew.")
        if claims or are_all:
            with _knowledge() as database:
                reindex_knowledge(database)
            click.echo("Memories are indexed anew.")


def _a_number(_context: click.Context, _parameter: click.Parameter, value: float) -> float:
    if math.isnan(value):
        raise click.BadParameter("nan is no number of days.")
    return value


@group.command("forget", epilog=examples("data forget --older-than-days 365 --email ada@example.org"))
@click.option(
    "--older-than-days",
    type=click.FloatRange(0, _MOST_DAYS),
    callback=_a_number,
    required=True,
    help="Younger memories and changes stay.",
)
@click.option("--email", help="Whose memories; all users' when left out.")
def forget(older_than_days: float, email: str | None) -> None:
    """Permanently erase retracted memories, and the former texts in the history of all memories.

    Memories retracted that long ago are erased with their vectors and search rows. Older changes stay in the history
    without the former texts, so they can no longer be undone. A server may keep running.
    """
    with one_line_errors():
        database = open_store(current_settings().users_dir)
        owner = get_user(database=database, user_email=email).user_email if email else None
        erasure = current_state().account_erasure
        erased, forgotten = erasure.forget_memories(before=iso_in(days=-older_than_days), user_email=owner)
    if erased or forgotten:
        _note_act("memories_forgotten", owner or "", days=older_than_days, memories=erased, changes=forgotten)
    click.echo(f"{erased} retracted memories were erased. {forgotten} changes can't be undone any more.")
    if not erasure.compacts_itself():
        click.echo("The stores are large: run `flask --app server data compact` to clear the files of deleted text.")


@group.command("compact", epilog=examples("data compact"))
def compact() -> None:
    """Rewrite both stores without free space, so that no deleted text is left in their files.

    A server may keep reading, but writers wait meanwhile, about a second for 100 MB: for stores of more than a
    gigabyte, stop it first. This needs disk space for a second copy of the larger store.
    """
    _require_sqlite()
    with one_line_errors():
        open_store(current_settings().users_dir)  # one that can't be opened is told as that
        before, after = current_state().account_erasure.compact()
    click.echo(f"{before / 1e6:.1f} MB became {after / 1e6:.1f} MB.")
    _note_act("store_compacted", "", bytes=[before, after])


def _note_act(act: Act, subject: str, **details: object) -> None:
    """Note in the audit log what was done to the whole store."""
    with one_line_errors():
        database = open_store(current_settings().users_dir)
        note_act(database=database, by=COMMAND_LINE, act=act, subject=subject, details=details)


def _reindex_messages(database: Database) -> None:
    indexed = reached = 0
    with click.progressbar(length=newest_seq(database=database), label="Messages") as bar:
        for count, mark in reindex_messages(database=database):
            indexed += count
            bar.update(mark - reached)
            reached = mark
    click.echo(f"{indexed} messages were indexed anew.")


def _is_empty() -> bool:
    """Whether nobody has anything in the store, as in one that a command has just made in a wrong folder."""
    try:
        settings = current_settings()
        database = open_store(settings.users_dir)
        return not any_user_exists(database=database) and not is_incomplete(settings.data_dir, database=database)
    except StoreError:  # told by what is done with the store, or saved as it is
        return False


def _where() -> str:
    settings = current_settings()
    return Place(settings.data_dir, settings.database_url).name


def _is_sqlite() -> bool:
    return current_settings().database_url is None


def _require_sqlite() -> None:
    """Refuse a command that works on the file of the store where PostgreSQL holds it."""
    if not _is_sqlite():
        raise click.ClickException(OnlyWithSQLiteError().message)


def _findings() -> Iterator[tuple[str, Finding]]:
    """All findings, each with the name of its store."""
    settings = current_settings()
    if not _is_sqlite():
        with one_line_errors(), scratch_folder(settings.data_dir, prefix=BACKUP_SCRATCH) as scratch:
            copy_stores(Place(settings.data_dir, settings.database_url), scratch / "stores", lambda _share: None)
            for store, finding in _findings_in_rows(scratch / "stores"):
                yield store, replace(finding, derived=False)
            yield from _findings_in_files()
        return
    yield from _findings_in_rows(settings.data_dir)
    with suppress(StoreError):  # of a store that can't be opened; it is among the findings above
        yield from _findings_in_files()


def _findings_in_rows(data_dir: Path) -> Iterator[tuple[str, Finding]]:
    """What is wrong with both stores in SQLite's files."""
    for finding in verify_file(data_dir / ACCOUNTS):
        yield Path(ACCOUNTS).name, finding
    if (data_dir / KNOWLEDGE).exists():
        for finding in verify_knowledge(data_dir / KNOWLEDGE):
            yield Path(KNOWLEDGE).name, finding


def _findings_in_files() -> Iterator[tuple[str, Finding]]:
    """What is wrong with documents and the files of messages. Raises StoreError."""
    for finding in verify_vaults(_vaults()):
        yield "vaults", finding
    for finding in verify_attachments(Attachments(database=open_store(current_settings().users_dir))):
        yield "attachments", finding


def _vaults() -> Vaults:
    settings = current_settings()
    return Vaults(database=open_store(settings.users_dir), mapped=settings.vault_folders)


def _print_findings(findings: Iterator[tuple[str, Finding]]) -> list[Finding]:
    """Print findings as they come; those that are errors."""
    wrong = []
    for store, finding in findings:
        click.echo(f"{'fine' if finding.fine else store}: {finding.rule}: {finding.what}")
        if not finding.fine:
            wrong.append(finding)
    return wrong


def _repairs(rules: set[str]) -> Iterator[str]:
    yield from repair_store(database=open_store(current_settings().users_dir), rules=rules)
    if DOCUMENTS in rules:
        yield f"{mend_vaults(_vaults())} documents were indexed anew."
    if (current_settings().data_dir / KNOWLEDGE).exists():
        with _knowledge() as database:
            yield from repair_knowledge(database, rules)


@contextmanager
def _knowledge() -> Iterator[PKBDatabase]:
    """The knowledge base, closed afterwards."""
    users_dir = current_settings().users_dir
    try:
        yield knowledge_in(users_dir).database()
    finally:
        close_knowledge(users_dir)


@contextmanager
def _progress(label: str) -> Iterator[Progress]:
    done = 0
    with click.progressbar(length=_THOUSANDTHS, label=label) as bar:

        def progress(share: float) -> None:
            nonlocal done
            now = int(share * _THOUSANDTHS)
            bar.update(now - done)
            done = now

        yield progress
