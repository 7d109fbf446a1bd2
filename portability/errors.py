"""What can be wrong with a bundle, and with a backup.

BundleError
 ├─ BundleNotFoundError   the folder holds no bundle
 ├─ UnsafeBundleError     its index would run code: refused, the folder is left untouched
 └─ BrokenBundleError     it is damaged, or of a version we don't know

BackupError
 ├─ BrokenBackupError     it is damaged, none of ours, or of a version we don't know
 └─ InTheWayError         something that is there would be lost
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
    """The bundle is damaged, or was written by a version we don't know."""


class BackupError(Exception):
    """A backup can't be made or restored. `message` is one sentence for a person."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class BrokenBackupError(BackupError):
    """The archive is damaged, is no backup of ours, or was written by a newer version."""


class InTheWayError(BackupError):
    """There is something already where the backup or its contents are to go."""
