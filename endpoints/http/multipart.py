"""A form with one file in it, which is written while it arrives."""

from __future__ import annotations

from typing import BinaryIO

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Event, File, MultipartDecoder, NeedData, State

from sentences import say

from .errors import InvalidRequestError

MULTIPART_TYPE = "multipart/form-data"
ROOM_FOR_FORM = 64 * 1024
"""In bytes: what a form may have around its file."""
_AT_ONCE = 64 * 1024
_LONGEST_BOUNDARY = 70


class FormFile:
    """Takes the bytes of a form, and writes those of its first file into `file`.

    name: what the file is called, once its part has begun. Raises InvalidRequestError for what is no such form; memory
    is bounded, whatever arrives.
    """

    def __init__(self, content_type: str, file: BinaryIO) -> None:
        boundary = parse_options_header(content_type)[1].get("boundary", "")
        if not 0 < len(boundary) <= _LONGEST_BOUNDARY or not boundary.isascii():
            raise InvalidRequestError(say("upload_no_form"))
        self._decoder = MultipartDecoder(boundary.encode(), 4 * _AT_ONCE, max_parts=20)
        self._file = file
        self._part: Event | None = None
        self._chosen: File | None = None
        self._ended = False

    @property
    def name(self) -> str | None:
        """The name of the file."""
        return None if self._chosen is None else self._chosen.filename

    def write(self, content: bytes) -> int:
        """Take bytes of the form; how many there were."""
        try:
            for start in range(0, len(content), _AT_ONCE):
                self._take(content[start : start + _AT_ONCE])
        except (ValueError, RequestEntityTooLarge):
            raise InvalidRequestError(say("upload_no_form")) from None
        return len(content)

    def end(self) -> None:
        """Check that the form has ended and had a file. Raises InvalidRequestError."""
        if not self._ended or self._chosen is None:
            raise InvalidRequestError(say("upload_no_form"))

    def _take(self, content: bytes) -> None:
        if self._ended:
            return
        self._decoder.receive_data(content)
        while not isinstance(event := self._decoder.next_event(), NeedData):
            if not isinstance(event, Data):
                self._part = event
                self._chosen = event if self._chosen is None and isinstance(event, File) else self._chosen
            elif self._part is self._chosen:
                self._file.write(event.data)
        self._ended = self._decoder.state is State.EPILOGUE


def form_file(content_type: str | None, file: BinaryIO) -> FormFile | None:
    """What takes a body of this type, where it is a form. Raises InvalidRequestError."""
    if parse_options_header(content_type or "")[0].lower() != MULTIPART_TYPE:
        return None
    return FormFile(content_type or "", file)
