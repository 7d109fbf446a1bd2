"""Restoring a backup: unpacked and checked in a folder of its own, then renamed into place."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from database.accounts.users import any_user_exists, conversation_exists
from database.changes import renew_epoch
from database.connection import close_store, open_store
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.durability import flush_to_disk
from database.engine.errors import StoreError
from database.engine.sqlite import holds_rows, is_sound
from portability.backup import (
    ACCOUNTS,
    BACKUP_SCRATCH,
    KNOWLEDGE,
    SECRET,
    UNREADABLE,
    Manifest,
    Progress,
    back_up,
    copy_bounded,
    read_manifest,
)
from truth_management_system import PKBConfig, get_database
from truth_management_system.interface.structured_api import KnowledgeUnavailableError

from .engines import Place, Unheard, copy_stores, drop_stores, holds_data, is_half_filled, transfer
from .errors import BackupError, BrokenBackupError, InTheWayError
from .people_files import own_files
from .scratch import remove_abandoned

log = logging.getLogger(__name__)
_USERS = Path(ACCOUNTS).parent.name
_SCRATCH = ".restoring-"
_EXCHANGE = "exchange"
"""A marker file in the unpacked backup while it is being renamed into place."""
_PEOPLE = ("users", "UserToConversationId")
_MEMORIES = ("claims", "notes", "entities", "tags", "contexts")
_BUNDLES = f"{_USERS}/bundles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """The result. created_at: when the backup was made. former: the folder with the replaced data, if there was any."""

    created_at: str
    former: Path | None


def restore(
    archive: Path,
    *,
    data_dir: Path,
    database_url: str | None = None,
    force: bool = False,
    progress: Progress = lambda _share: None,
) -> Restored:
    """Restore the backup `archive` into `data_dir`, which no server may be using.

    database_url: of the PostgreSQL database that holds the stores instead of files. Sizes and hashes are compared with
    the manifest, and both stores are opened, before anything is moved. With `force`, existing data is kept beside, that
    of a database as a backup. Raises InTheWayError for existing data without `force`, BrokenBackupError and
    BackupError; with `database_url` what `engines.transfer` raises.
    """
    place = None if database_url is None else Place(data_dir, database_url)
    in_use = _is_in_use(data_dir) or (place is not None and holds_data(place))
    if in_use and not force:
        raise InTheWayError(
            f"{data_dir if place is None else place.name} holds data already; --force puts it aside and restores."
        )
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=data_dir, prefix=_SCRATCH) as scratch:
            draft = Path(scratch)
            manifest = _unpack(archive, draft, progress)
            _check_stores(draft)
            former = Path(tempfile.mkdtemp(dir=data_dir, prefix=f"before-restoring-{now_iso()[:10]}-"))
            if place is not None:
                _fill_database(draft, place, former)
            _exchange(draft, data_dir, former)
    except OSError as error:
        raise BackupError(f"The backup can't be restored: {error.strerror or error}.") from error
    if not in_use:
        shutil.rmtree(former, ignore_errors=True)  # only the empty store that a first start creates
    return Restored(created_at=manifest.created_at, former=former if in_use else None)


def _is_in_use(data_dir: Path) -> bool:
    """Whether there is more than the empty store that a first start creates."""
    made = {Path(ACCOUNTS).name + suffix for suffix in ("", "-wal", "-shm", "-checked")}
    users = data_dir / _USERS
    strange = users.is_dir() and any(path.name not in made for path in users.iterdir())
    return strange or holds_rows(data_dir / ACCOUNTS, _PEOPLE)


def _unpack(archive: Path, draft: Path, progress: Progress) -> Manifest:
    with _opened(archive) as opened:
        manifest = read_manifest(opened)
        whole, done = max(1, sum(file.size for file in manifest.files.values())), 0
        for name, file in manifest.files.items():
            target = draft / name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            before = done
            with opened.open(name) as reading, target.open("xb") as writing:
                target.chmod(0o600)
                report = partial(_report, progress, before, whole)
                packed = copy_bounded(reading, writing, most=file.size, progress=report)
                writing.flush()
                os.fsync(writing.fileno())
            if packed != replace(file, modified_ns=None):
                raise BrokenBackupError(f"The backup is damaged: {name} is not what its manifest says.")
            if file.modified_ns is not None:
                os.utime(target, ns=(file.modified_ns, file.modified_ns))
            done += file.size
    return manifest


def _report(progress: Progress, before: int, whole: int, copied: int) -> None:
    progress((before + copied) / whole)


@contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(archive) as opened:
            yield opened
    except UNREADABLE as error:
        raise BrokenBackupError(f"The backup is damaged: {error}") from error


def _check_stores(draft: Path) -> None:
    """Open both stores as a server does, which migrates them, and begin another epoch. Raises BrokenBackupError."""
    users_dir = str(draft / _USERS)
    for name in (ACCOUNTS, KNOWLEDGE):
        if (draft / name).exists() and not is_sound(draft / name):
            raise BrokenBackupError(f"The backup holds a store that is damaged: {name}.")
    try:
        try:
            # What a client has seen of the changes after this backup never happened here.
            renew_epoch(database=open_store(users_dir))
        finally:
            close_store(users_dir)
        if (draft / KNOWLEDGE).exists():
            get_database(PKBConfig(db_path=draft / KNOWLEDGE)).close()
    except (StoreError, KnowledgeUnavailableError) as error:
        raise BrokenBackupError(f"The backup can't be used: {error.message}") from error


def is_incomplete(data_dir: Path, *, database: Database) -> bool:
    """Whether `data_dir` and `database` hold somebody's conversations, memories or files, and no account.

    Raises StoreError where that can't be read.
    """
    if any_user_exists(database=database):
        return False
    return (
        conversation_exists(database=database) or _memory_exists(data_dir, database=database) or _file_exists(data_dir)
    )


def _file_exists(data_dir: Path) -> bool:
    """Whether there is a document, a file of a message or a bundle; a folder that can't be read may hold one."""
    bundles = data_dir / _BUNDLES
    try:
        return any(True for _ in own_files(data_dir)) or (bundles.is_dir() and any(bundles.iterdir()))
    except OSError:
        return True


def _memory_exists(data_dir: Path, *, database: Database) -> bool:
    if holds_rows(data_dir / KNOWLEDGE, _MEMORIES):
        return True
    if database.backend.file is not None:
        return False
    from database.engine import postgresql
    from truth_management_system.schema.postgresql import SCHEMA as KNOWLEDGE_SCHEMA

    with database.reading() as connection:
        return postgresql.holds_rows(connection, _MEMORIES, schema=KNOWLEDGE_SCHEMA)


def needs_tidying(data_dir: Path) -> bool:
    """Whether a killed restore left its working folder in `data_dir`."""
    return next(data_dir.glob(f"{_SCRATCH}*"), None) is not None


def tidy(data_dir: Path) -> None:
    """Finish the renaming that a killed restore had begun, and remove what killed commands left.

    The caller holds the lock of the data folder.
    """
    for draft in data_dir.glob(f"{_SCRATCH}*"):
        if (draft / _EXCHANGE).exists():
            _resume(draft, data_dir)
        shutil.rmtree(draft, ignore_errors=True)
    remove_abandoned(data_dir, prefix=BACKUP_SCRATCH)


def _resume(draft: Path, data_dir: Path) -> None:
    """Finish an interrupted exchange; one that had moved nothing yet is abandoned."""
    former, users = data_dir / (draft / _EXCHANGE).read_text(encoding="utf-8"), data_dir / _USERS
    if users.exists() and (draft / _USERS).exists():
        if not (former / _USERS).exists():
            shutil.rmtree(former, ignore_errors=True)
        return
    if (draft / _USERS).exists():
        (draft / _USERS).rename(users)
    _put_secret(draft, data_dir)
    log.warning("a restore that was interrupted is complete now; what was there before lies in %s", former)


def _put_secret(draft: Path, data_dir: Path) -> None:
    if (draft / SECRET).exists():
        (draft / SECRET).replace(data_dir / SECRET)
    flush_to_disk(data_dir)


def _fill_database(draft: Path, place: Place, former: Path) -> None:
    """Move the unpacked stores into the database at `place`; what is there becomes a backup in `former` before.

    A database that is half filled holds nothing that is not elsewhere. Should this be killed, no server serves from the
    database before it is done again.
    """

    def keep() -> None:
        if not is_half_filled(place):
            back_up(place.data_dir, former, copy_stores=partial(copy_stores, place))

    if holds_data(place):
        drop_stores(place, first=keep)
    transfer(Place(draft), place, listener=Unheard())
    for name in (ACCOUNTS, KNOWLEDGE):
        for left in draft.glob(f"{name}*"):
            left.unlink()


def _exchange(draft: Path, data_dir: Path, former: Path) -> None:
    """Rename the unpacked files into place; `former` keeps the replaced ones.

    `tidy` recovers from a crash in between.
    """
    close_store(str(data_dir / _USERS))
    users = data_dir / _USERS
    if (draft / SECRET).exists() and (data_dir / SECRET).exists():
        shutil.copy2(data_dir / SECRET, former / SECRET)
    (draft / _EXCHANGE).write_text(former.name, encoding="utf-8")
    unpacked = (folder for folder in (draft / _USERS).rglob("*") if folder.is_dir())
    for folder in (*unpacked, draft / _USERS, draft, data_dir):
        flush_to_disk(folder)
    if users.exists():
        users.rename(former / _USERS)
    try:
        (draft / _USERS).rename(users)
    except OSError:
        if (former / _USERS).exists():
            (former / _USERS).rename(users)
        raise
    _put_secret(draft, data_dir)
