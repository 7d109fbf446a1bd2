"""What a vault may answer instead of a document.

StoreError
 ├─ DocumentNotFoundError     a NotFoundError
 ├─ PathRefusedError          an InvalidChangeError
 ├─ DocumentTooLargeError
 ├─ NoRoomError
 ├─ DocumentExistsError       a ConflictError
 ├─ VersionConflictError      holds the document as it is now
 ├─ VersionMissingError
 ├─ VaultReadOnlyError
 └─ VaultUnavailableError     a StorageFailedError
     └─ VaultBusyError
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from database.engine.errors import ConflictError, InvalidChangeError, NotFoundError, StorageFailedError, StoreError

if TYPE_CHECKING:
    from vault.content.markdown import Document


class DocumentNotFoundError(NotFoundError):
    """No such document in this person's vault."""

    noun = "document"


class PathRefusedError(InvalidChangeError):
    """The path leads out of the vault, or names what is no document."""


class DocumentTooLargeError(StoreError):
    """The document is larger than a vault takes."""


class NoRoomError(StoreError):
    """The person's files and documents would take more room than one person may have."""


class DocumentExistsError(ConflictError):
    """Something else has this path: another document, a folder, or a document where the path names a folder."""


class VersionConflictError(StoreError):
    """The document was changed since the caller read it. `details`: its path, version and text, null where it is gone.

    document: as it is now; None where it was deleted.
    """

    def __init__(self, document: Document | None) -> None:
        super().__init__("The document was changed meanwhile. Look at what it says now, then save again.")
        self.document = document

    @property
    def details(self) -> dict[str, str | None]:
        """The path, the version and the text as they are now, for clients."""
        now = self.document
        if now is None:
            return {"path": None, "version": None, "text": None}
        return {"path": now.path, "version": now.version, "text": now.text}


class VersionMissingError(StoreError):
    """An existing document is replaced only by a caller who names the version that is replaced."""

    def __init__(self) -> None:
        super().__init__("This document exists. Name the version that you have read, to replace it.")


class VaultReadOnlyError(StoreError):
    """The operator mapped this vault for reading only."""

    def __init__(self) -> None:
        super().__init__("This vault can only be read.")


class VaultUnavailableError(StorageFailedError):
    """The folder of the vault can't be read or written."""


class VaultBusyError(VaultUnavailableError):
    """Other changes of the vault's documents took longer than a caller waits. Trying again helps."""

    def __init__(self) -> None:
        super().__init__("Other changes of these documents take long just now. Try again in a moment.")
