"""Synchronising a vault's index with its files: full scans, and single paths that were written, renamed or deleted."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from database.engine.database import Database
from database.engine.errors import StoreError
from database.vault import documents as store
from database.vault.documents import DocumentRow
from vault import paths
from vault.content import markdown
from vault.content.markdown import Document
from vault.content.resolution import keys_of, names_of
from vault.content.wikilinks import find_wikilinks, fold

from .errors import VaultUnavailableError

log = logging.getLogger(__name__)
_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Scanned:
    """The result of a scan or a part of one. seen: files checked. total: files of the vault."""

    seen: int
    total: int
    written: int
    removed: int


def read_document(root: Path, path: str) -> Document:
    """Read a document's file. Raises DocumentNotFoundError, PathRefusedError, DocumentTooLargeError."""
    content, status = paths.read_bytes(root, path)
    return markdown.parsed(path, content, modified_ns=status.st_mtime_ns)


def index_documents(documents: Sequence[Document], *, database: Database, user_email: str) -> None:
    """Put documents into the index."""
    store.put_documents(database=database, user_email=user_email, rows=[_row(document) for document in documents])


def index_paths(changed: Iterable[str], *, root: Path, database: Database, user_email: str) -> int:
    """Update the index for paths that may have been written, created or deleted; returns how many were.

    The path of a folder stands for everything in it, now or before.
    """
    work = 0
    for path in dict.fromkeys(changed):
        file = root / path
        if file.is_dir() and not file.is_symlink():
            work += sum(
                part.written + part.removed for part in scan(root, database=database, user_email=user_email, below=path)
            )
            continue
        gone = [path]
        if not os.path.lexists(file):
            gone += store.known_files(database=database, user_email=user_email, below=path)
        elif paths.is_document_name(file.name):
            work += _reindex([path], root=root, database=database, user_email=user_email, is_full=False)
            continue
        work += store.remove_documents(database=database, user_email=user_email, paths=gone)
    return work


def scan(
    root: Path, *, database: Database, user_email: str, below: str = "", is_full: bool = False, skip: int = 0
) -> Iterator[Scanned]:
    """Update the index for all files, or those of a folder, slice by slice.

    is_full: also read files that seem unchanged. skip: how many of the changed files, by path, were read before.
    Raises VaultUnavailableError if the vault's folder is missing, and leaves the index as it is; StoreError.
    """
    if not root.is_dir():
        raise VaultUnavailableError("The folder of the vault is not there.")
    # In this order: what is written and indexed meanwhile is not taken for deleted.
    known = store.known_files(database=database, user_email=user_email, below=below)
    files = {path: (status.st_mtime_ns, status.st_size) for path, status in paths.document_files(root, below=below)}
    gone = [path for path in known if path not in files]
    removed = store.remove_documents(database=database, user_email=user_email, paths=gone)
    changed = [
        path
        for path, state in sorted(files.items())
        if is_full or path not in known or state != (known[path].modified_ns, known[path].size)
    ]
    unchanged = len(files) - len(changed)
    yield Scanned(seen=unchanged + min(skip, len(changed)), total=len(files), written=0, removed=removed)
    for start in range(skip, len(changed), _AT_ONCE):
        some = changed[start : start + _AT_ONCE]
        written = _reindex(some, root=root, database=database, user_email=user_email, is_full=is_full)
        yield Scanned(seen=unchanged + start + len(some), total=len(files), written=written, removed=0)


def _reindex(changed: Sequence[str], *, root: Path, database: Database, user_email: str, is_full: bool) -> int:
    """Read these files and store their texts; returns how many have changed."""
    known = store.known_versions(database=database, user_email=user_email, paths=changed)
    found, times, gone = list[Document](), dict[str, int](), list[str]()
    for path in changed:
        try:
            document = read_document(root, path)
        except StoreError as error:
            # Deleted or replaced between the listing and the reading, or not readable for us.
            log.debug("%s is left out of the index: %s", path, error.message)
            gone.append(path)
            continue
        if known.get(path) == document.version and not is_full:
            times[path] = document.modified_ns
        else:
            found.append(document)
    index_documents(found, database=database, user_email=user_email)
    store.touch_documents(database=database, user_email=user_email, times=times)
    return len(found) + store.remove_documents(database=database, user_email=user_email, paths=gone)


def _row(document: Document) -> DocumentRow:
    return DocumentRow(
        path=document.path,
        title=document.title,
        version=document.version,
        size=document.size,
        modified_ns=document.modified_ns,
        front_matter=document.front_matter,
        headings=document.headings,
        text=document.text,
        names=[(int(name.kind), name.name, fold(name.name)) for name in names_of(document)],
        links=list(_links(document.text)),
    )


def _links(text: str) -> Iterator[tuple[int, str, str, str]]:
    line, at = 1, 0
    for link in find_wikilinks(text):
        line += text.count("\n", at, link.start)
        at = link.start
        yield (line, link.raw, *keys_of(link))
