"""What can be wrong with a bundle.

BundleError
 ├─ BundleNotFoundError   the folder holds no bundle
 ├─ UnsafeBundleError     its index would run code: refused, the folder is left untouched
 └─ BrokenBundleError     it is damaged, or of a version we don't know
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
