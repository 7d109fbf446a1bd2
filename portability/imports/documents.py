"""Documents that come with a history: they go into the person's vault, and replace nothing there."""

from __future__ import annotations

from portability.importers.imported import ImportedDocument
from vault.documents import Vaults
from vault.importing import PackedFile, import_files


class DocumentStore:
    """Puts documents into the vaults of people."""

    def __init__(self, vaults: Vaults) -> None:
        self._vaults = vaults

    def __call__(self, user_email: str, document: ImportedDocument) -> bool:
        """Store a document as Markdown below its folder; False where it is there already. Raises StoreError."""
        stem = document.name.rsplit(".", 1)[0] if document.name.lower().endswith((".md", ".txt")) else document.name
        name = f"{' '.join(stem.replace('/', ' ').split()) or 'Document'}.md"
        packed = PackedFile(name, document.text.encode("utf-8", "replace"))
        report = import_files(self._vaults.of(user_email), [packed], folder=document.folder)
        for _, refused in report.refused:
            raise refused
        return bool(report.imported)
