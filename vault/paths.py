"""Which paths of a vault are documents, and where they lie, in the bin too.

No other module makes a file's path of a person's text. The bin is a hidden folder that keeps deleted documents, each
below the moment of its deletion.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sentences import say

from .errors import DocumentNotFoundError, DocumentTooLargeError, PathRefusedError, VaultUnavailableError

EXTENSIONS = (".md", ".markdown", ".txt")
LARGEST_BYTES = 2 * 1024 * 1024
_BIN = ".trash"
_MOMENT = "%Y%m%dT%H%M%S"
_BINNED = re.compile(rf"{re.escape(_BIN)}/(\d{{8}}T\d{{6}})-[0-9a-f]{{6}}/(.+)", re.DOTALL)
_LONGEST_PATH = 1_500  # bytes: it is a key of an index
_LONGEST_NAME = 255
# Line separators among them: a path stands on one line of a prompt.
_REFUSED = re.compile(r"[\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedDocument:
    """A document in the bin. kept_at: where it lies, relative to the vault. path: where it lay.

    deleted_at: ISO 8601 in UTC. size: in bytes.
    """

    kept_at: str
    path: str
    deleted_at: str
    size: int


def checked_path(path: str) -> str:
    """`path` if it may be that of a document. Raises PathRefusedError that says why not."""
    if not path or _REFUSED.search(path) or len(path.encode()) > _LONGEST_PATH:
        raise PathRefusedError(say("path_malformed"))
    segments = path.split("/")
    if path.startswith("/") or _DRIVE.match(path):
        raise PathRefusedError(say("path_absolute"))
    if any(segment in ("", ".", "..") for segment in segments):
        raise PathRefusedError(say("path_part_empty"))
    if any(len(segment.encode()) > _LONGEST_NAME for segment in segments):
        raise PathRefusedError(say("path_part_long"))
    if any(segment.startswith(".") for segment in segments):
        raise PathRefusedError(say("path_hidden"))
    if not is_document_name(segments[-1]):
        raise PathRefusedError(say("path_ending", endings=", ".join(EXTENSIONS)))
    return path


def is_document_name(name: str) -> bool:
    """Whether a file of this name is a document."""
    return name.lower().endswith(EXTENSIONS) and not name.startswith(".")


def file_of(root: Path, path: str) -> Path:
    """The file that `path` names, its symlinks followed; it may be missing.

    Raises PathRefusedError, also for a symlink that leaves the vault.
    """
    real_root = Path(os.path.realpath(root))
    found = Path(os.path.realpath(real_root / checked_path(path)))
    if not found.is_relative_to(real_root) or found == real_root:
        raise PathRefusedError(say("path_outside"))
    if any(part.startswith(".") for part in found.relative_to(real_root).parts):
        raise PathRefusedError(say("path_hidden"))
    return found


def read_bytes(root: Path, path: str) -> tuple[bytes, os.stat_result]:
    """What the document's file holds.

    Raises DocumentNotFoundError, also for a folder; PathRefusedError, DocumentTooLargeError, VaultUnavailableError.
    """
    file = file_of(root, path)
    try:
        # Not blocked by a pipe; not led elsewhere by a link that was put there meanwhile.
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise DocumentNotFoundError from None
    except OSError as error:
        raise VaultUnavailableError(f"The document can't be read: {error.strerror}.") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):  # a folder opens, too, but no file object can be made of it
            raise DocumentNotFoundError
        with os.fdopen(descriptor, "rb", closefd=False) as opened:
            content = opened.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise VaultUnavailableError(f"The document can't be read: {error.strerror}.") from error
    finally:
        os.close(descriptor)
    require_size(len(content))
    return content, status


def require_size(size: int) -> None:
    """Raises DocumentTooLargeError for more bytes than a document may have."""
    if size > LARGEST_BYTES:
        raise DocumentTooLargeError(say("document_too_large", megabytes=LARGEST_BYTES // 2**20))


def document_files(root: Path, *, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """The path and the state of each document of a vault, or of a folder of it.

    Hidden folders and links to folders are passed over, and files that are no documents, too large, or elsewhere.
    """
    for folder, folders, names in os.walk(root / below):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in sorted(names):
            if not is_document_name(name):
                continue
            path = Path(folder, name).relative_to(root).as_posix()
            try:
                status = file_of(root, path).stat()
            except (PathRefusedError, OSError):
                continue
            if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_BYTES:
                yield path, status


def place_in_bin(path: str) -> str:
    """Where a document that is deleted now is kept, relative to the vault."""
    return f"{_BIN}/{datetime.now(UTC).strftime(_MOMENT)}-{secrets.token_hex(3)}/{path}"


def deleted_documents(root: Path) -> list[DeletedDocument]:
    """What lies in the bin, the latest first. What other programs have put there is passed over."""
    found = []
    for folder, _, names in os.walk(root / _BIN):
        for name in names:
            try:
                found.append(_deleted_document(root, Path(folder, name).relative_to(root).as_posix()))
            except (PathRefusedError, DocumentNotFoundError, OSError):
                continue
    return sorted(found, key=lambda each: (each.deleted_at, each.path), reverse=True)


def purge_bin(root: Path, *, before: datetime) -> int:
    """Erase the documents that were deleted before this moment, in UTC; how many. What other programs put there stays.

    Folders that are left empty go, too, once they are as old: each costs a watch of the system. Raises OSError.
    """
    moment = before.isoformat(timespec="seconds")
    old = [document.kept_at for document in deleted_documents(root) if document.deleted_at < moment]
    for kept_at in old:
        (root / kept_at).unlink(missing_ok=True)
    for folder, _, _ in os.walk(root / _BIN, topdown=False):
        with suppress(PathRefusedError, OSError):  # no folder of a deletion, or not empty
            if _binned(f"{Path(folder).relative_to(root).as_posix()}/any.md")[0] < moment:
                Path(folder).rmdir()
    return len(old)


def path_before_deletion(kept_at: str) -> str:
    """The path that a document of the bin had. Raises PathRefusedError for a path that no deletion has made."""
    return _binned(kept_at)[1]


def binned_file(root: Path, kept_at: str) -> Path:
    """The file of a document of the bin. Raises PathRefusedError, DocumentNotFoundError."""
    _binned(kept_at)
    file = root / kept_at
    # No folder on the way, and not the file itself, may be a link that leads elsewhere.
    if Path(os.path.realpath(file)) != Path(os.path.realpath(root), kept_at):
        raise PathRefusedError("The path leads out of the bin.")
    if not file.is_file():
        raise DocumentNotFoundError
    return file


def _deleted_document(root: Path, kept_at: str) -> DeletedDocument:
    size = binned_file(root, kept_at).stat().st_size
    deleted_at, path = _binned(kept_at)
    return DeletedDocument(kept_at=kept_at, path=path, deleted_at=deleted_at, size=size)


def _binned(kept_at: str) -> tuple[str, str]:
    """The moment of the deletion, and the path that the document had. Raises PathRefusedError."""
    parts = _BINNED.fullmatch(kept_at)
    try:
        if parts is not None:
            moment = datetime.strptime(parts[1], _MOMENT).replace(tzinfo=UTC)
            return moment.isoformat(timespec="seconds"), checked_path(parts[2])
    except ValueError:  # of a date that no calendar has
        pass
    raise PathRefusedError("This is no document of the bin.")
