"""Who stores what an import reads beside conversations, and takes it back: documents, memories and settings, files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol

from database.history.attachments import Attachment
from database.imports.arriving import ArrivingConversation
from database.imports.storing import Stored
from portability.importers.anaphora import ExportedFile
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import (
    FailedItem,
    ImportedDocument,
    ImportedExport,
    ImportedKnowledgeBase,
    ImportedPart,
)

from .taking_back import Taker


class StoreDocument(Taker, Protocol):
    """Puts a document into a person's vault; False where it is there already. Raises StoreError."""

    def __call__(self, user_email: str, document: ImportedDocument, *, import_id: str) -> bool:
        """See the class."""
        ...


class StorePart(Taker, Protocol):
    """Stores memories or settings of a person; whether anything was new. Raises BrokenImportError, StoreError.

    failures: gets the references that lead nowhere now.
    """

    def __call__(self, user_email: str, part: ImportedPart, *, import_id: str, failures: list[FailedItem]) -> bool:
        """See the class."""
        ...

    def knowledge_base(
        self,
        user_email: str,
        base: ImportedKnowledgeBase,
        file: ImportFile,
        *,
        import_id: str,
        failures: list[FailedItem],
    ) -> tuple[Stored, int]:
        """Memories of the first implementation: how many are new and were here; how many rows made no sense."""
        ...

    def known(self, user_email: str, ids: Collection[str]) -> Collection[str]:
        """Those of these ids that memories of the person, or what groups them, have here. Raises StoreError."""
        ...


class StoreFiles(Protocol):
    """Stores the files of a conversation that lie in `file`: the conversation with them, and those that can't be."""

    def __call__(
        self, user_email: str, conversation: ArrivingConversation, file: ImportFile, *, after_each: Callable[[], object]
    ) -> tuple[ArrivingConversation, list[FailedItem]]:
        """after_each: called after each file."""
        ...

    def of_export(
        self,
        user_email: str,
        files: Mapping[str, ExportedFile],
        export: ImportedExport,
        file: ImportFile,
        *,
        after_each: Callable[[], object],
    ) -> tuple[Mapping[str, Attachment], list[FailedItem]]:
        """The files of an export of ours that are kept now, by their ids there, and those that can't be."""
        ...
