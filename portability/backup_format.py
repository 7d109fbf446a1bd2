"""What a backup is: a ZIP of the stores and the secret of an installation, and a manifest that says what is in it.

`manifest.json`: `{format, version, created_at, schema: {name: version}, files: {name: {size, sha256}}}`. Only the names
in `NAMES` may stand in it, so no archive can name a place of its own to be unpacked to.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import IO, Any

import orjson

from settings import SECRET_FILE

from .errors import BrokenBackupError

FORMAT = "anaphora-backup"
VERSION = 1
MANIFEST = "manifest.json"
ACCOUNTS = "users/users.db"
KNOWLEDGE = "users/pkb.sqlite"
SECRET = SECRET_FILE
NAMES = (KNOWLEDGE, ACCOUNTS, SECRET)
"""Paths below the data folder, in the order in which they are copied.

What happens to memories between the copies of the two stores is in none of them; the other way round, activities would
be missing that the memories' store believes to have told.
"""

_AT_ONCE = 1 << 20
_LONGEST_MANIFEST = 100_000
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """One file of a backup. size: bytes, unpacked."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup says of itself. schema: the versions of the stores' schemas, by name."""

    created_at: str
    schema: Mapping[str, int]
    files: Mapping[str, Packed]

    def as_json(self) -> bytes:
        """As it stands in the archive."""
        files = {name: asdict(packed) for name, packed in self.files.items()}
        stated = {"format": FORMAT, "version": VERSION, "created_at": self.created_at}
        return orjson.dumps({**stated, "schema": dict(self.schema), "files": files}, option=orjson.OPT_INDENT_2)


def read_manifest(archive: zipfile.ZipFile) -> Manifest:
    """The manifest of `archive`. Raises BrokenBackupError for one that is none of ours, or names what we don't know."""
    try:
        with archive.open(MANIFEST) as file:
            stated = orjson.loads(file.read(_LONGEST_MANIFEST))
        if stated["format"] != FORMAT:
            raise BrokenBackupError("This is no backup of Anaphora.")
        if stated["version"] != VERSION:
            raise BrokenBackupError(f"The backup has version {stated['version']!r}; this program reads {VERSION}.")
        return _manifest(stated)
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        RuntimeError,
    ) as error:
        if isinstance(error, BrokenBackupError):
            raise
        raise BrokenBackupError("This is no backup of Anaphora, or its manifest is damaged.") from error


def _manifest(stated: Mapping[str, Any]) -> Manifest:
    files = {name: Packed(size=int(file["size"]), sha256=str(file["sha256"])) for name, file in stated["files"].items()}
    strange = sorted(set(files) - set(NAMES))
    if strange:
        raise BrokenBackupError(f"The backup names a file that is none of ours: {strange[0]!r}.")
    if ACCOUNTS not in files:
        raise BrokenBackupError("The backup has no accounts and conversations in it.")
    if not all(file.size >= 0 and _SHA256.fullmatch(file.sha256) for file in files.values()):
        raise BrokenBackupError("The manifest of the backup is damaged.")
    schema = {str(name): int(version) for name, version in stated["schema"].items()}
    return Manifest(created_at=str(stated["created_at"]), schema=schema, files=files)


def pour(source: IO[bytes], target: IO[bytes], *, most: int, progress: Callable[[int], None]) -> Packed:
    """Copy `source` to `target`; how much it was, and its hash. progress: gets the bytes copied so far.

    Raises BrokenBackupError where there are more than `most` bytes: a small archive may unpack to a full disk.
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
