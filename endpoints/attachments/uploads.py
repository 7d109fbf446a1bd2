"""Uploads: bodies that go into a file as they arrive, and never into memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attachments.storage import Attachments
from endpoints.http.errors import TooLargeError
from endpoints.http.scope import current_request
from endpoints.http.wsgi import UPLOAD
from sentences import say
from settings import Settings

_AT_ONCE = 256 * 1024
_MEGABYTE = 1024 * 1024


def largest_attachment(settings: Settings) -> int:
    """The largest file of a message, in bytes."""
    return settings.file_megabytes * _MEGABYTE


def largest_import(settings: Settings) -> int:
    """The largest file to import, in bytes."""
    return settings.import_megabytes * _MEGABYTE


@contextmanager
def receive_upload(attachments: Attachments, *, most: int) -> Iterator[Path]:
    """The file that the body of the current request is; it is gone afterwards, unless it was moved.

    Raises TooLargeError for more than `most` bytes.
    """
    written: Path | None = current_request().environ.get(UPLOAD)
    if written is not None:
        yield written  # the server has written it, and removes it
        return
    with attachments.receiving() as path:
        _write(path, most=most)
        yield path


def _write(path: Path, *, most: int) -> None:
    stream, size = current_request().stream, 0
    with path.open("xb") as file:
        while chunk := stream.read(_AT_ONCE):
            size += len(chunk)
            if size > most:
                raise TooLargeError(say("request_too_large"))
            file.write(chunk)
