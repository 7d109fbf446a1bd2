"""Errors of bundles and backups.

BundleError
 ├─ BundleNotFoundError   the folder holds no bundle
 ├─ UnsafeBundleError     its index would run code: refused, the folder is left untouched
 └─ BrokenBundleError     damaged, or of an unknown version

BackupError
 ├─ BrokenBackupError     damaged, of another program, or of an unknown version
 └─ InTheWayError         existing data would be lost

BrokenImportError         a file to import is damaged, of another program, or of an unknown version
 ├─ CutOffImportError     it lacks its end
 └─ UnknownImportError    no importer recognises it
"""

from __future__ import annotations


class BundleError(ValueError):
    """A bundle can't be opened. `message` is one sentence for a person."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BundleNotFoundError(BundleError):
    """There is no bundle in this folder."""


class UnsafeBundleError(BundleError):
    """The index holds more than plain data."""


class BrokenBundleError(BundleError):
    """The bundle is damaged, or has an unknown version."""


class BackupError(Exception):
    """A backup can't be made or restored. `message` is one sentence for a person."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BrokenBackupError(BackupError):
    """The archive is damaged, not a backup of this program, or written by a newer version."""


class InTheWayError(BackupError):
    """The target of a backup or a restore exists already."""


class BrokenImportError(Exception):
    """A file can't be imported. `message` is one sentence for a person."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class CutOffImportError(BrokenImportError):
    """A file ends in the middle: it lacks its end alone, and what comes before is whole."""


class UnknownImportError(BrokenImportError):
    """No importer recognises a file. `message` goes on with a sentence for each that there is: which files it reads."""
