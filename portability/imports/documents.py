"""Documents that come with a history: they go into the person's vault, and replace nothing there."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, NamedTuple

from database.engine.database import Database
from database.imports.changes import CHANGED_SINCE, Change, brought_before, note_beside, noted_beside
from database.imports.repository import Import
from portability.importers.reading.imported import ImportedDocument
from vault.content.markdown import decoded
from vault.documents import Vault, Vaults
from vault.importing import PackedFile, import_files
from vault.paths import is_document_name

from .taking_back import DOCUMENT, TO_LEARN_FROM


class DocumentStore:
    """Puts documents into the vaults of people."""

    def __init__(self, vaults: Vaults, *, database: Database) -> None:
        self._vaults = vaults
        self._database = database

    def __call__(self, user_email: str, document: ImportedDocument, *, import_id: str) -> bool:
        """Store a document below its folder; False where it is there already. Raises StoreError.

        One that came with an earlier import stays as the person has changed it since.
        """
        vault, digest = self._vaults.of(user_email), _digest_of(document)
        packed = _packed(vault, document)
        own: dict[str, Any] = {"database": self._database, "user_email": user_email, "import_id": import_id}
        earlier = brought_before(**own, kind=DOCUMENT, digest=digest) if packed.stands_beside else None
        if earlier is not None:
            if document.to_learn_from:
                note_beside(**own, kind=TO_LEARN_FROM, thing_id=earlier, became={})
            return False
        report = import_files(vault, [packed.file], folder=document.folder)
        for _, refused in report.refused:
            raise refused
        for path in report.imported:
            became = {"version": vault.read(path).version, "digest": digest}
            note_beside(**own, kind=DOCUMENT, thing_id=path, became=became)
        if document.to_learn_from:
            for path in (*report.imported, *report.unchanged):
                note_beside(**own, kind=TO_LEARN_FROM, thing_id=path, became={})
        return bool(report.imported)

    def take_back(self, user_email: str, change: Change) -> str:
        """Move a document that an import brought into the bin of the vault. See `Taker`."""
        if change.kind == TO_LEARN_FROM:
            return ""
        vault = self._vaults.of(user_email)
        document = vault.read_if_there(change.thing_id)
        if document is None:
            return ""
        if document.version != change.became["version"]:
            return CHANGED_SINCE
        vault.delete(change.thing_id, version=document.version)
        return ""


def _digest_of(document: ImportedDocument) -> str:
    return blake2b(f"{document.source_id}\n{document.text}".encode("utf-8", "replace"), digest_size=16).hexdigest()


class _Packed(NamedTuple):
    """A document with its name here. stands_beside: it is new, and its own name has another text."""

    file: PackedFile
    stands_beside: bool


def _packed(vault: Vault, document: ImportedDocument) -> _Packed:
    """The document with its name here. Another text of the same name gets a number: the earlier one stays beside it."""
    stem, ending = _name_here(document)
    content = document.text.encode("utf-8", "replace")
    name, number = f"{stem}{ending}", 2
    while (there := vault.read_if_there(f"{document.folder}/{name}".lstrip("/"))) is not None:
        if there.text == decoded(content):
            break
        name, number = f"{stem} {number}{ending}", number + 1
    return _Packed(PackedFile(name, content), there is None and number > 2)


def _name_here(document: ImportedDocument) -> tuple[str, str]:
    """The name of a document's file here, in two parts: up to its ending, and that."""
    stem, dot, ending = document.name.rpartition(".")
    if document.keeps_name and is_document_name(document.name):
        return stem, f"{dot}{ending}"
    stem = stem if document.name.lower().endswith((".md", ".txt")) else document.name
    return " ".join(stem.replace("/", " ").split()) or "Document", ".md"


def documents_to_learn_from(which: Import, *, vaults: Vaults) -> list[str]:
    """The paths of those documents of an import that the person can take memories from, as far as they are there."""
    noted = noted_beside(database=vaults.database, import_id=which.import_id, kinds=[TO_LEARN_FROM])
    if not noted:
        return []
    there = vaults.of(which.user_email).entries([each.thing_id for each in noted])
    return [each.thing_id for each in noted if each.thing_id in there]
