"""Uploads: bodies that go into a file as they arrive, and never into memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attachments.errors import QuotaExceededError
from attachments.storage import Attachments
from database.imports.repository import waiting_bytes
from endpoints.http.errors import file_too_large
from endpoints.http.scope import AppState, current_request
from endpoints.http.validation import UploadQuota
from endpoints.http.wsgi import UPLOAD, UPLOAD_NAME
from endpoints.serving.bodies import ROOM_FOR_FORM, form_file
from portability.imports.runner import FOLDER as IMPORTS
from sentences import say
from settings import Settings

_AT_ONCE = 256 * 1024
_MEGABYTE = 1024 * 1024
_LONGEST_NAME = 255


def largest_attachment(settings: Settings) -> int:
    """The largest file of a message, in bytes."""
    return settings.file_megabytes * _MEGABYTE


def largest_import(settings: Settings) -> int:
    """The largest file to import, in bytes."""
    return settings.import_megabytes * _MEGABYTE


def _room_for_imports(state: AppState, user_email: str) -> int:
    used = waiting_bytes(database=state.database, user_email=user_email, uploads=state.settings.data_dir / IMPORTS)
    return state.settings.import_quota * _MEGABYTE - used


def _imports_over_quota(state: AppState) -> QuotaExceededError:
    return QuotaExceededError(say("import_quota_used_up", megabytes=state.settings.import_quota))


IMPORT_QUOTA = UploadQuota(_room_for_imports, _imports_over_quota)
"""Of all files that a person has waiting to be imported."""


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
        form = form_file(current_request().content_type, file)
        while chunk := stream.read(_AT_ONCE):
            size += len(chunk)
            if size > most + (ROOM_FOR_FORM if form else 0):
                raise file_too_large(most)
            (form or file).write(chunk)
    if form is not None:
        form.end()
        current_request().environ[UPLOAD_NAME] = form.name


def uploaded_name() -> str | None:
    """What the file is called that came in a form; None where it came by itself, or has no name."""
    name = current_request().environ.get(UPLOAD_NAME)
    return str(name).replace("\\", "/").rpartition("/")[2][:_LONGEST_NAME] or None if name else None
