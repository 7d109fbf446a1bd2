"""Documents that come with a history: they go into the person's vault, and replace nothing there."""

from __future__ import annotations

import itertools
from typing import Any

from database.engine.database import Database
from database.imports.changes import CHANGED_SINCE, Change, note_beside, noted_beside
from database.imports.repository import Import
from portability.importers.imported import ImportedDocument
from vault.documents import Vault, Vaults
from vault.importing import PackedFile, import_files
from vault.markdown import decoded

from .taking_back import DOCUMENT, TO_LEARN_FROM


class DocumentStore:
    """Puts documents into the vaults of people."""

    def __init__(self, vaults: Vaults, *, database: Database) -> None:
        self._vaults = vaults
        self._database = database

    def __call__(self, user_email: str, document: ImportedDocument, *, import_id: str) -> bool:
        """Store a document as Markdown below its folder; False where it is there already. Raises StoreError."""
        vault = self._vaults.of(user_email)
        packed = _packed(vault, document)
        report = import_files(vault, [packed], folder=document.folder)
        for _, refused in report.refused:
            raise refused
        own: dict[str, Any] = {"database": self._database, "user_email": user_email, "import_id": import_id}
        for path in report.imported:
            became = {"version": vault.read(path).version}
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


def _packed(vault: Vault, document: ImportedDocument) -> PackedFile:
    """The document with its name here. Another text of the same name gets a number: the earlier one stays beside it."""
    stem = document.name.rsplit(".", 1)[0] if document.name.lower().endswith((".md", ".txt")) else document.name
    stem = " ".join(stem.replace("/", " ").split()) or "Document"
    content = document.text.encode("utf-8", "replace")
    name = f"{stem}.md"
    for number in itertools.count(2):
        there = vault.read_if_there(f"{document.folder}/{name}".lstrip("/"))
        if there is None or there.text == decoded(content):
            break
        name = f"{stem} {number}.md"
    return PackedFile(name, content)


def documents_to_learn_from(which: Import, *, vaults: Vaults) -> list[str]:
    """The paths of those documents of an import that the person can take memories from, as far as they are there."""
    noted = noted_beside(database=vaults.database, import_id=which.import_id, kinds=[TO_LEARN_FROM])
    if not noted:
        return []
    there = vaults.of(which.user_email).entries([each.thing_id for each in noted])
    return [each.thing_id for each in noted if each.thing_id in there]
