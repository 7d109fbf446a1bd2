"""Backing up a data folder while a server uses it: a ZIP of stores, people's files and secret key, with a manifest."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Annotated

import orjson
from pydantic import Field, NonNegativeInt, TypeAdapter, ValidationError

from database.engine.clock import now_iso
from database.engine.durability import replace_durably
from database.engine.sqlite import copy_store, version_of
from settings import SECRET_FILE
from version import program

from .errors import BackupError, BrokenBackupError, InTheWayError
from .people_files import is_own_file, open_own_file, own_files
from .scratch import remove_abandoned, scratch_folder

FORMAT = "anaphora-backup"
VERSION = 3
"""Since 2, a backup holds the files of vaults too, since 3 those of messages."""
_READABLE = (1, 2, VERSION)
MANIFEST = "manifest.json"
ACCOUNTS = "users/users.db"
KNOWLEDGE = "users/pkb.sqlite"
SECRET = SECRET_FILE
NAMES = (KNOWLEDGE, ACCOUNTS, SECRET)
"""Paths below the data folder, in the order in which they are copied.

Changes of memories between the two copies are then missing from both; in the reverse order, activities would be missing
that the knowledge base has marked as delivered.
"""

_AT_ONCE = 1 << 20
_LONGEST_MANIFEST = 100_000
_LONGEST_ENTRY = 5_000
"""Of one file in the manifest, in bytes: its path, size, hash and time."""
_LATEST_NS = 2**63


UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, KeyError, ValueError)
"""What `zipfile` raises for no archive and wrong checksums; damaged data; data that is cut off; an encrypted file and
an unknown compression; a file that is not there; a name that is no text and a place outside of the file.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One file of a backup. size: in bytes, uncompressed. modified_ns: its time in nanoseconds, of a person's file."""

    size: NonNegativeInt
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    modified_ns: Annotated[int, Field(gt=-_LATEST_NS, lt=_LATEST_NS)] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The manifest of a backup. schema: the schema version of each store, by file name.

    made_by: the program and its version; "" in backups of former programs.
    """

    created_at: str
    schema: Mapping[str, int]
    files: Mapping[str, Packed]
    made_by: str = ""

    def as_json(self) -> bytes:
        """The manifest as it is stored in the archive."""
        files = {
            name: {key: value for key, value in asdict(packed).items() if value is not None}
            for name, packed in self.files.items()
        }
        stated = {"format": FORMAT, "version": VERSION, "made_by": self.made_by, "created_at": self.created_at}
        return orjson.dumps({**stated, "schema": dict(self.schema), "files": files}, option=orjson.OPT_INDENT_2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Origin:
    """What tells by the manifest whether this program can read the rest."""

    format: str
    version: int
    made_by: str = ""


_ORIGIN, _MANIFEST = TypeAdapter(_Origin), TypeAdapter(Manifest)


def read_manifest(archive: zipfile.ZipFile) -> Manifest:
    """The manifest of `archive`. Raises BrokenBackupError for one of another program, or with unknown files."""
    try:
        with archive.open(MANIFEST) as file:
            stated = file.read(_LONGEST_MANIFEST + _LONGEST_ENTRY * len(archive.namelist()))
        origin = _ORIGIN.validate_json(stated)
        if origin.format != FORMAT:
            raise BrokenBackupError("This is no backup of Anaphora.")
        if origin.version not in _READABLE:
            made_by = f" (made by {origin.made_by[:60]!r})" if origin.made_by else ""
            its = f"{origin.version!r}{made_by}"
            raise BrokenBackupError(f"The backup has version {its}; this program reads {VERSION}.")
        manifest = _MANIFEST.validate_json(stated)
    except (*UNREADABLE, ValidationError) as error:
        raise BrokenBackupError("This is no backup of Anaphora, or its manifest is damaged.") from error
    strange = sorted(name for name in set(manifest.files) - set(NAMES) if not is_own_file(name))
    if strange:
        raise BrokenBackupError(f"The backup names a file that is none of ours: {strange[0]!r}.")
    if ACCOUNTS not in manifest.files:
        raise BrokenBackupError("The backup has no accounts and conversations in it.")
    return manifest


def copy_bounded(source: IO[bytes], target: IO[bytes], *, most: int, progress: Callable[[int], None]) -> Packed:
    """Copy `source` to `target`; the size and the hash. progress: called with the bytes copied so far.

    Raises BrokenBackupError after `most` bytes: a small archive could otherwise fill the disk.
    """
    digest, size = hashlib.sha256(), 0
    while chunk := source.read(_AT_ONCE):
        size += len(chunk)
        if size > most:
            raise BrokenBackupError("The backup holds more than its manifest says.")
        digest.update(chunk)
        target.write(chunk)
        progress(size)
    return Packed(size=size, sha256=digest.hexdigest())


Progress = Callable[[float], None]
"""Called with the share that is done, 0 to 1."""

CopyStores = Callable[[Path, Progress], object]
"""Writes both stores into a data folder, as SQLite's files, and tells its progress."""

_QUICK = 1
BACKUP_SCRATCH = ".anaphora-backup-"
_STORES = (KNOWLEDGE, ACCOUNTS)


def back_up(
    data_dir: Path,
    target: Path,
    *,
    copy_stores: CopyStores | None = None,
    force: bool = False,
    progress: Progress = lambda _share: None,
) -> Path:
    """Write a backup of `data_dir` to `target`, a file, or a folder in which the file gets a name; the file.

    It holds a snapshot of both stores, the files of all accounts' own vaults and of messages, and the secret key if
    that is in the folder. Nobody is blocked. Meanwhile it needs disk space for a second copy of the stores (and a third
    with `copy_stores`, where they don't lie in the folder), beside `target`; only its owner may read it. Raises
    InTheWayError where the file exists, unless `force` is given; BackupError, StoreError.
    """
    begun_at = now_iso()
    file = target / f"anaphora-{begun_at[:19].replace(':', '')}.zip" if target.is_dir() else target
    if file.exists() and not force:
        raise InTheWayError(f"{file} is there already; --force replaces it.")
    if not file.parent.is_dir():
        raise BackupError(f"There is no folder {file.parent}.")
    try:
        remove_abandoned(file.parent, prefix=BACKUP_SCRATCH)
        with scratch_folder(file.parent, prefix=BACKUP_SCRATCH) as scratch:
            draft = scratch / "archive"
            stores = data_dir
            if copy_stores is not None:
                stores = scratch / "stores"
                copy_stores(stores, lambda share: progress(share / 2))
                progress = partial(_second_half, progress)
            _write_archive(draft, data_dir, stores, scratch, progress, created_at=begun_at)
            replace_durably(draft, file)
    except OSError as error:
        raise BackupError(f"The backup can't be written: {error.strerror or error}.") from error
    return file


def _second_half(progress: Progress, share: float) -> None:
    progress((1 + share) / 2)


def _write_archive(
    draft: Path, data_dir: Path, stores: Path, scratch: Path, progress: Progress, *, created_at: str
) -> None:
    """stores: the data folder where they lie, `data_dir` or a copy."""
    folders = {name: stores if name in _STORES else data_dir for name in NAMES}
    names = [name for name in NAMES if (folders[name] / name).exists()]
    schema: dict[str, int] = {}
    files: dict[str, Packed] = {}
    with (
        open(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as opened,  # noqa: PTH123
        zipfile.ZipFile(opened, "w", zipfile.ZIP_DEFLATED, compresslevel=_QUICK) as archive,
    ):
        parts = len(names) + 1
        for place, name in enumerate(names):
            source, half = folders[name] / name, partial(_share, progress, parts, place)
            if name in _STORES:
                source = scratch / "store"
                copy_store(stores / name, source, progress=partial(half, 0))
                schema[name] = version_of(source)
            files[name] = _pack(archive, name, source, progress=partial(half, 1))
            if name != SECRET:
                source.unlink()
        # After the stores, so that each document that the index knows and nobody deleted since is there.
        documents = list(own_files(data_dir))
        for done, name in enumerate(documents):
            if (packed := _pack_own_file(archive, name, data_dir / name)) is not None:
                files[name] = packed
            progress((len(names) + done / len(documents)) / parts)
        manifest = Manifest(created_at=created_at, schema=schema, files=files, made_by=program())
        archive.writestr(MANIFEST, manifest.as_json())
    progress(1.0)


def _pack(archive: zipfile.ZipFile, name: str, source: Path, *, progress: Progress) -> Packed:
    size = source.stat().st_size
    with source.open("rb") as reading, archive.open(name, "w", force_zip64=True) as writing:
        return copy_bounded(reading, writing, most=size, progress=lambda done: progress(done / max(1, size)))


def _pack_own_file(archive: zipfile.ZipFile, name: str, source: Path) -> Packed | None:
    """Pack a file that other programs may be writing, as long as it is then; None where it is gone."""
    found = open_own_file(source)
    if found is None:
        return None
    reading, status = found
    with reading, archive.open(name, "w", force_zip64=True) as writing:
        packed = copy_bounded(reading, writing, most=sys.maxsize, progress=lambda _done: None)
    return replace(packed, modified_ns=status.st_mtime_ns)


def _share(progress: Progress, count: int, place: int, half: int, done: float) -> None:
    progress((place + (half + done) / 2) / count)
