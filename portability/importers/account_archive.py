"""Importing the archive of an account, as `portability.account_archive` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import orjson

from portability.account_archive import CONVERSATIONS, DOCUMENTS, FORMAT, MANIFEST, MEMORIES, SCHEMA, SETTINGS
from portability.errors import BrokenImportError

from .import_file import ImportFile
from .imported import FailedItem, ImportedDocument, ImportedExport, ImportedItem, ImportedPart

_LARGEST = 256 * 2**20
_LARGEST_DOCUMENT = 2 * 2**20


class AccountArchiveImporter:
    """Reads the ZIP with everything of an account: conversations, documents, memories, settings."""

    source = "account"
    title = "Anaphora, everything"
    expects = "the ZIP of *Download everything*."

    def recognises(self, file: ImportFile) -> bool:
        """See `Importer`."""
        return MANIFEST in file.members and FORMAT.encode() in file.beginning(MANIFEST, length=200)

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """See `Importer`. Settings come last, when what they speak of is there."""
        manifest = _object(file, MANIFEST)
        if manifest.get("schema") != SCHEMA:
            raise BrokenImportError(
                f"The archive has the schema {manifest.get('schema')!r}; this program reads {SCHEMA}."
            )
        for name in file.members:
            try:
                item = _item(file, name)
            except BrokenImportError as error:
                item = FailedItem(name, error.message)
            if item is not None:
                yield item
        for name in (MEMORIES, SETTINGS):
            if name in file.members:
                yield _part(file, name)


def _item(file: ImportFile, name: str) -> ImportedItem | None:
    """A conversation or a document; None for every other file."""
    if name.startswith(CONVERSATIONS) and name.endswith(".json"):
        content = file.read(name, most=_LARGEST)
        return ImportedExport(name, content, messages=content.count(b'"message_short_hash"'))
    if not name.startswith(DOCUMENTS):
        return None
    path = PurePosixPath(name.removeprefix(DOCUMENTS))
    try:
        text = file.read(name, most=_LARGEST_DOCUMENT).decode()
    except UnicodeDecodeError:
        return FailedItem(name, "The document is not UTF-8.")
    folder = "" if str(path.parent) == "." else str(path.parent)
    return ImportedDocument(str(path), folder, path.name, text)


def _part(file: ImportFile, name: str) -> ImportedItem:
    try:
        return ImportedPart(name, _object(file, name))
    except BrokenImportError as error:
        return FailedItem(name, error.message)


def _object(file: ImportFile, name: str) -> dict[str, Any]:
    try:
        content = orjson.loads(file.read(name, most=_LARGEST))
    except orjson.JSONDecodeError:
        raise BrokenImportError(f"{name} is no JSON.") from None
    if not isinstance(content, dict):
        raise BrokenImportError(f"{name} holds no JSON object.")
    return content
