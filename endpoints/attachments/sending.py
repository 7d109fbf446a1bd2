"""Responses that are a file: what was uploaded is saved, a picture shown, and nothing in them runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flask import Response

from attachments.storage import Attachments
from database.engine.errors import AttachmentNotFoundError
from database.history.attachments import Attachment
from endpoints.http.responses import saved_as
from endpoints.http.streams import FileStream, StreamResponse
from endpoints.http.validation import UPLOAD_TYPE

_SANDBOX = "default-src 'none'; sandbox"
_ASKED_AGAIN = "private, no-cache"
"""Whoever logs out, or erases a file, has it in no cache that answers without asking here."""
_SHOWN = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG": "image/png"}
SENT_TYPES = (UPLOAD_TYPE, *_SHOWN.values())
"""The media types of such responses."""
_AT_ONCE = 256 * 1024


def send_picture(files: Attachments, attachment: Attachment) -> Response:
    """A picture as it is shown, without metadata. Raises AttachmentNotFoundError."""
    file = files.picture(attachment)
    content = file.read_bytes() if file.is_file() else b""
    media = next((media for sign, media in _SHOWN.items() if content.startswith(sign)), None)
    if media is None:
        raise AttachmentNotFoundError
    return Response(content, mimetype=media)


def send_original(files: Attachments, attachment: Attachment) -> Response:
    """The file as it was uploaded, to be saved. Raises AttachmentNotFoundError."""
    file = files.original(attachment)
    if not file.is_file():
        raise AttachmentNotFoundError
    response = StreamResponse(FileStream(_pieces(file)), media=UPLOAD_TYPE)
    response.headers["Content-Disposition"] = saved_as(attachment.name)
    return response


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(_AT_ONCE):
            yield piece


def contained(response: Response) -> Response:
    """The response with headers that let no browser run anything in it, or show it to whoever may not see it."""
    response.headers["Content-Security-Policy"] = _SANDBOX
    response.headers["Cache-Control"] = _ASKED_AGAIN
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
