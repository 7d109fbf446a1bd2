"""Backing up a data folder while a server works in it: one file, whole or not there at all."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from database.clock import now_iso
from database.copies import copy_store, version_of
from language_models.file_lock import locked

from .backup_format import ACCOUNTS, KNOWLEDGE, MANIFEST, NAMES, SECRET, Manifest, Packed, pour
from .errors import BackupError, InTheWayError

Progress = Callable[[float], None]
"""Gets the share that is done, 0 to 1."""

_QUICK = 1
_SCRATCH = ".anaphora-backup-"
_IN_USE = "in_use"
_STORES = (KNOWLEDGE, ACCOUNTS)


def back_up(data_dir: Path, target: Path, *, force: bool = False, progress: Progress = lambda _share: None) -> Path:
    """Write a backup of `data_dir` to `target`, a file or a folder in which it gets a name; the file.

    It holds both stores, each as it was at one moment, and the secret key where that lies in the folder. Nobody is kept
    from working meanwhile. While it is made it needs room for the stores once more, beside `target`; only its owner may
    read it. Raises InTheWayError where the file is there already, unless `force` is given; BackupError, StoreError.
    """
    file = target / f"anaphora-{now_iso()[:19].replace(':', '')}.zip" if target.is_dir() else target
    if file.exists() and not force:
        raise InTheWayError(f"{file} is there already; --force replaces it.")
    if not file.parent.is_dir():
        raise BackupError(f"There is no folder {file.parent}.")
    try:
        remove_abandoned(file.parent)
        with (
            tempfile.TemporaryDirectory(dir=file.parent, prefix=_SCRATCH) as scratch,
            locked(Path(scratch) / _IN_USE, while_waiting=_give_up),
        ):
            draft = Path(scratch) / "archive"
            _write_archive(draft, data_dir, Path(scratch), progress)
            keep(draft, file)
    except OSError as error:
        raise BackupError(f"The backup can't be written: {error.strerror or error}.") from error
    return file


def remove_abandoned(folder: Path) -> None:
    """Remove the working folders of backups in `folder` whose process was killed; those of running ones are locked."""
    for lock in folder.glob(f"{_SCRATCH}*/{_IN_USE}"):
        with suppress(OSError), locked(lock, while_waiting=_give_up):
            shutil.rmtree(lock.parent)


def _give_up() -> None:
    raise BlockingIOError


def keep(draft: Path, file: Path) -> None:
    """Let `draft` be `file` from now on, also after a loss of power."""
    with draft.open("rb") as written:
        os.fsync(written.fileno())
    draft.replace(file)
    flush_folder(file.parent)


def flush_folder(folder: Path) -> None:
    """Let the names in `folder` outlast a loss of power, where the system can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_archive(draft: Path, data_dir: Path, scratch: Path, progress: Progress) -> None:
    names = [name for name in NAMES if (data_dir / name).exists()]
    created_at = now_iso()
    schema: dict[str, int] = {}
    files: dict[str, Packed] = {}
    with (
        open(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as opened,  # noqa: PTH123
        zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED, compresslevel=_QUICK) as archive,
    ):
        for place, name in enumerate(names):
            source, half = data_dir / name, partial(_share, progress, len(names), place)
            if name in _STORES:
                source = scratch / "store"
                copy_store(data_dir / name, source, progress=partial(half, 0))
                schema[name] = version_of(source)
            files[name] = _pack(archive, name, source, progress=partial(half, 1))
            if name != SECRET:
                source.unlink()
        archive.writestr(MANIFEST, Manifest(created_at=created_at, schema=schema, files=files).as_json())
    progress(1.0)


def _pack(archive: zipfile.ZipFile, name: str, source: Path, *, progress: Progress) -> Packed:
    size = source.stat().st_size
    with source.open("rb") as reading, archive.open(name, "w", force_zip64=True) as writing:
        return pour(reading, writing, most=size, progress=lambda done: progress(done / max(1, size)))


def _share(progress: Progress, count: int, place: int, half: int, done: float) -> None:
    progress((place + (half + done) / 2) / count)
