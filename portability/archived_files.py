"""The files of ZIPs that are packed while they are sent: archives of accounts, exports of conversations, bundles.

The files of messages lie in each of them at `attachments/<id>/<name>`, as `archived_name` says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from activity.parts import archived_name
from attachments.storage import Attachments
from database.history.attachments import Attachment

ATTACHMENTS = "attachments/"
_BYTES_AT_ONCE = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedFile:
    """A file of the archive. path: inside the ZIP, with "/" between its parts. name: its true name, if it has one."""

    path: str
    chunks: Iterable[bytes]
    name: str = ""


def packed(files: Iterable[ArchivedFile]) -> Iterator[bytes]:
    """A ZIP of `files`, piece by piece; each is asked for once the one before is packed."""
    from zipstream import ZIP_DEFLATED, ZipStream  # an archive is rare, so the library is loaded by the first one

    archive = ZipStream(compress_type=ZIP_DEFLATED)
    for file in files:
        archive.add(iter(file.chunks), file.path)
        yield from archive.file()
    yield from archive.finalize()


def files_of_messages(found: Iterable[Attachment], attachments: Attachments) -> Iterator[ArchivedFile]:
    """These files as they were uploaded; those that are erased meanwhile are left out."""
    for each in found:
        if (original := attachments.original(each)).is_file():
            yield ArchivedFile(path=place_of(each), chunks=file_chunks(original), name=each.name)


def place_of(attachment: Attachment) -> str:
    """Where a file lies in an archive or a bundle: in a folder called by its id."""
    return f"{ATTACHMENTS}{attachment.attachment_id}/{archived_name(attachment.name, attachment.media_type)}"


def file_chunks(path: Path) -> Iterator[bytes]:
    """The bytes of a file, piece by piece."""
    with path.open("rb") as file:
        yield from pieces_of(file)


def pieces_of(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of an open file from where it stands, piece by piece."""
    while piece := file.read(_BYTES_AT_ONCE):
        yield piece
