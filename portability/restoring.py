"""Restoring a backup: unpacked and tried out beside what is there, then put in its place by renaming."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from database.connection import close_store, open_store
from database.engine.clock import now_iso
from database.engine.sqlite import holds_rows, is_sound
from database.errors import StoreError
from portability.backup import (
    ACCOUNTS,
    KNOWLEDGE,
    SECRET,
    Manifest,
    Progress,
    flush_folder,
    pour,
    read_manifest,
    remove_abandoned,
)
from truth_management_system import PKBConfig, get_database
from truth_management_system.interface.structured_api import KnowledgeUnavailableError

from .errors import BackupError, BrokenBackupError, InTheWayError

log = logging.getLogger(__name__)
_USERS = Path(ACCOUNTS).parent.name
_SCRATCH = ".restoring-"
_EXCHANGE = "exchange"
"""Lies in the unpacked backup from just before it is put in place until that is done."""
_PEOPLE = ("users", "UserToConversationId")
_MEMORIES = ("claims", "notes", "entities", "tags", "contexts")
_THINGS = ("vault", "files", "conversations", f"{_USERS}/vault", f"{_USERS}/files", f"{_USERS}/bundles")


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was done. created_at: when the backup was made. former: where lies what was there before, if anything."""

    created_at: str
    former: Path | None


def restore(
    archive: Path, *, data_dir: Path, force: bool = False, progress: Progress = lambda _share: None
) -> Restored:
    """Put what the backup `archive` holds into `data_dir`, on which no server may work meanwhile.

    Sizes and hashes are compared with the manifest, and this program has to be able to open both stores, before
    anything is moved. With `force`, data that is there is kept beside. Raises InTheWayError for data that is there
    without `force`, BrokenBackupError, BackupError.
    """
    in_use = _is_in_use(data_dir)
    if in_use and not force:
        raise InTheWayError(f"{data_dir} holds data already; --force puts it aside and restores.")
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=data_dir, prefix=_SCRATCH) as scratch:
            draft = Path(scratch)
            manifest = _unpack(archive, draft, progress)
            _try_out(draft)
            former = _exchange(draft, data_dir)
    except OSError as error:
        raise BackupError(f"The backup can't be restored: {error.strerror or error}.") from error
    if not in_use:
        shutil.rmtree(former, ignore_errors=True)  # nothing but the empty store that a start makes
    return Restored(created_at=manifest.created_at, former=former if in_use else None)


def _is_in_use(data_dir: Path) -> bool:
    """Whether there is anything beside the empty store that a start makes."""
    made = {Path(ACCOUNTS).name + suffix for suffix in ("", "-wal", "-shm")}
    users = data_dir / _USERS
    strange = users.is_dir() and any(path.name not in made for path in users.iterdir())
    return strange or holds_rows(data_dir / ACCOUNTS, _PEOPLE)


def _unpack(archive: Path, draft: Path, progress: Progress) -> Manifest:
    with _opened(archive) as opened:
        manifest = read_manifest(opened)
        whole, done = max(1, sum(file.size for file in manifest.files.values())), 0
        for name, file in manifest.files.items():
            target = draft / name
            target.parent.mkdir(mode=0o700, exist_ok=True)
            before = done
            with opened.open(name) as reading, target.open("xb") as writing:
                target.chmod(0o600)
                packed = pour(reading, writing, most=file.size, progress=lambda now: progress((before + now) / whole))  # noqa: B023
                writing.flush()
                os.fsync(writing.fileno())
            if packed != file:
                raise BrokenBackupError(f"The backup is damaged: {name} is not what its manifest says.")
            done += file.size
    return manifest


@contextmanager
def _opened(archive: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(archive) as opened:
            yield opened
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, NotImplementedError, RuntimeError, ValueError) as error:
        raise BrokenBackupError(f"The backup is damaged: {error}") from error


def _try_out(draft: Path) -> None:
    """Open both stores as a server does, which brings them to today's schema. Raises BrokenBackupError."""
    users_dir = str(draft / _USERS)
    for name in (ACCOUNTS, KNOWLEDGE):
        if (draft / name).exists() and not is_sound(draft / name):
            raise BrokenBackupError(f"The backup holds a store that is damaged: {name}.")
    try:
        try:
            open_store(users_dir)
        finally:
            close_store(users_dir)
        if (draft / KNOWLEDGE).exists():
            get_database(PKBConfig(db_path=draft / KNOWLEDGE)).close()
    except (StoreError, KnowledgeUnavailableError) as error:
        raise BrokenBackupError(f"The backup can't be used: {error.message}") from error


def is_incomplete(data_dir: Path) -> bool:
    """Whether `data_dir` holds somebody's conversations, memories or files, and no account."""
    if holds_rows(data_dir / ACCOUNTS, ("users",)):
        return False
    folders = (data_dir / name for name in _THINGS)
    return (
        holds_rows(data_dir / ACCOUNTS, _PEOPLE)
        or holds_rows(data_dir / KNOWLEDGE, _MEMORIES)
        or any(folder.is_dir() and any(folder.iterdir()) for folder in folders)
    )


def needs_tidying(data_dir: Path) -> bool:
    """Whether a restore was killed in `data_dir`."""
    return next(data_dir.glob(f"{_SCRATCH}*"), None) is not None


def tidy(data_dir: Path) -> None:
    """Bring to its end what a killed restore had begun to put in place, and remove what killed commands left.

    Only for whoever holds the data folder.
    """
    for draft in data_dir.glob(f"{_SCRATCH}*"):
        if (draft / _EXCHANGE).exists():
            _go_on(draft, data_dir)
        shutil.rmtree(draft, ignore_errors=True)
    remove_abandoned(data_dir)


def _go_on(draft: Path, data_dir: Path) -> None:
    """Finish an exchange that was broken off; one that had moved nothing yet is given up."""
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
    flush_folder(data_dir)


def _exchange(draft: Path, data_dir: Path) -> Path:
    """Put the unpacked files where they belong; the folder in which what was there is kept.

    A crash on the way is put right by `tidy`.
    """
    close_store(str(data_dir / _USERS))
    former = Path(tempfile.mkdtemp(dir=data_dir, prefix=f"before-restoring-{now_iso()[:10]}-"))
    users = data_dir / _USERS
    if (draft / SECRET).exists() and (data_dir / SECRET).exists():
        shutil.copy2(data_dir / SECRET, former / SECRET)
    (draft / _EXCHANGE).write_text(former.name, encoding="utf-8")
    for folder in (draft / _USERS, draft, data_dir):
        flush_folder(folder)
    if users.exists():
        users.rename(former / _USERS)
    try:
        (draft / _USERS).rename(users)
    except OSError:
        if (former / _USERS).exists():
            (former / _USERS).rename(users)
        raise
    _put_secret(draft, data_dir)
    return former
