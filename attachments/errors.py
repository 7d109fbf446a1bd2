"""Why a file is not taken, or can't be read. `message` is one sentence for a person."""

from __future__ import annotations


class AttachmentError(Exception):
    """Base of all."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class FileTooLargeError(AttachmentError):
    """The file, or the picture in it, is larger than allowed."""


class FileTypeError(AttachmentError):
    """The content is of a type that neither people nor models could see here, or it is damaged."""


class QuotaExceededError(AttachmentError):
    """The person's files and documents would take more room than one person may have."""


class FilesUnavailableError(AttachmentError):
    """The folder of files can't be read or written."""
