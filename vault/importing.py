"""Importing documents: Markdown files, and ZIP archives of them. Nothing is replaced, nothing leaves the vault."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, NamedTuple

from database.engine.errors import InvalidChangeError, StoreError
from sentences import say
from vault.content.markdown import decoded, is_utf8

from . import paths
from .errors import DocumentExistsError, VersionMissingError

if TYPE_CHECKING:
    from .documents import Vault

MOST_FILES = 20_000
_MOST_BYTES = 200 * 1024 * 1024
"""Of all documents of one import together, unpacked."""


class PackedFile(NamedTuple):
    """A file that may be imported: the path that it asks for, and its content; None: larger than a document may be.

    is_document: False for a file of an archive that is hidden or no document, and is passed over.
    """

    path: str
    content: bytes | None
    is_document: bool = True


@dataclass(slots=True)
class ImportReport:
    """What became of each file. unchanged: those that were there with the same text. refused: (path, why).

    passed_over: how many files of archives were hidden or no documents.
    """

    imported: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    refused: list[tuple[str, StoreError]] = field(default_factory=list)
    passed_over: int = 0


def import_files(vault: Vault, files: Iterable[PackedFile], *, folder: str = "") -> ImportReport:
    """Write new documents below `folder`; a path that another text has is refused. Raises VaultReadOnlyError."""
    report = ImportReport()
    for path, content, is_document in _until_refused(files, report):
        if not is_document:
            report.passed_over += 1
            continue
        wanted = f"{folder.strip('/')}/{path}" if folder.strip("/") else path
        try:
            _import(vault, wanted, content, report)
        except VersionMissingError:
            report.refused.append((wanted, DocumentExistsError(say("document_path_taken"))))
        except StoreError as error:
            if vault.read_only:
                raise
            report.refused.append((wanted, error))
    return report


def _until_refused(files: Iterable[PackedFile], report: ImportReport) -> Iterator[PackedFile]:
    """The files; what stops them after the first is reported, since those before it are in the vault."""
    try:
        yield from files
    except InvalidChangeError as error:
        if not report.imported:
            raise
        report.refused.append(("", error))


def _import(vault: Vault, path: str, content: bytes | None, report: ImportReport) -> None:
    if content is None:
        paths.require_size(paths.LARGEST_BYTES + 1)
    if not is_utf8(content or b""):
        raise InvalidChangeError(say("document_no_utf8"))
    text = decoded(content or b"")
    try:
        vault.write(path, text, reason=f"Import {path}")
        report.imported.append(path)
    except VersionMissingError:
        if vault.read(path).text != text:
            raise
        report.unchanged.append(path)


@contextmanager
def packed_files(uploads: Sequence[tuple[str, IO[bytes]]]) -> Iterator[Iterator[PackedFile]]:
    """The documents among files, (name, content) each, and in the ZIP archives among them.

    Raises InvalidChangeError for an archive that can't be read, and beyond the limits of one import.
    """
    with ExitStack() as opened:
        for _, file in uploads:
            opened.enter_context(file)
        yield _within_limits(_files(uploads))


def _files(uploads: Sequence[tuple[str, IO[bytes]]]) -> Iterator[PackedFile]:
    for name, file in uploads:
        if name.lower().endswith(".zip"):
            yield from _of_archive(file)
        else:
            content = file.read(paths.LARGEST_BYTES + 1)
            yield PackedFile(name, content if len(content) <= paths.LARGEST_BYTES else None)


def _of_archive(file: IO[bytes]) -> Iterator[PackedFile]:
    """The files of an archive; hidden ones, and those that are no documents, are passed over."""
    try:
        with zipfile.ZipFile(file) as archive:
            for entry in archive.infolist():
                if entry.is_dir():
                    continue
                if not _is_document(entry.filename):
                    yield PackedFile(entry.filename, None, is_document=False)
                    continue
                with archive.open(entry) as packed:
                    # The size that an archive states is not believed.
                    content = packed.read(paths.LARGEST_BYTES + 1)
                yield PackedFile(entry.filename, content if len(content) <= paths.LARGEST_BYTES else None)
    # RuntimeError: encrypted, or an unknown compression. ValueError: no text as a name, a place outside of the file.
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, ValueError):
        raise InvalidChangeError(say("archive_unreadable")) from None


def _is_document(path: str) -> bool:
    """Whether a file of an archive is a document that a person put there."""
    parts = path.split("/")
    is_hidden = parts[0] == "__MACOSX" or any(part.startswith(".") and part.strip(".") for part in parts)
    return paths.is_document_name(parts[-1]) and not is_hidden


def _within_limits(files: Iterator[PackedFile]) -> Iterator[PackedFile]:
    number = size = 0
    for file in files:
        number += file.is_document
        size += len(file.content or b"")
        if number > MOST_FILES or size > _MOST_BYTES:
            raise InvalidChangeError(say("archive_too_large", most=MOST_FILES, megabytes=_MOST_BYTES // 2**20))
        yield file
