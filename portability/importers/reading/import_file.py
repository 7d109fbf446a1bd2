"""A file that a person wants to import: one file, a ZIP, or a folder, read in bounded memory and never unpacked."""

from __future__ import annotations

import io
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import IO

from portability.errors import BrokenImportError
from sentences import say

MOST_MEMBERS = 200_000
LARGEST_MEMBER = 8 * 2**30
"""In bytes, unpacked."""
MOST_UNPACKED = 32 * 2**30
"""In bytes: all members of a ZIP together."""
MOST_EXPANSION = 400
"""A member of more than `_SMALL` bytes may unpack to so many times of its packed size."""
_SMALL = 32 * 2**20
_FILE_OF_A_MESSAGE = re.compile(r"(?:^|/)attachments/([0-9a-f-]{36})/[^/]+$")
_LARGEST_FILE = 2**30
"""In bytes: so much a file of a message, as exports of this program hold it, may have however well it is packed."""
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 0x1
_ZIP_BEGINNINGS = {b"PK\x03\x04", b"PK\x05\x06"}
"""Of one with files, and of an empty one."""
_READ_AT_ONCE = 2**20
_BEGINNING = 64 * 2**10
_UNREADABLE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, UnicodeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A file inside a ZIP or a folder. name: its path there, with "/". size: in bytes, unpacked."""

    name: str
    size: int


class ImportFile:
    """An opened upload.

    path: where it lies. name: what the person called it. scratch: the folder in which members are unpacked for a while;
    None: where the system has its temporary files. size: in bytes, as it lies there. members: the files of a ZIP
    or a folder by name, in its order; empty for a single file. Raises BrokenImportError for a ZIP that is damaged, or
    whose names, sizes or methods are not those of an export; nothing of it is unpacked to find out.
    """

    def __init__(self, path: Path, *, name: str | None = None, scratch: Path | None = None) -> None:
        self.path = path
        self.name = path.name if name is None else name
        self._scratch = scratch
        self.size = 0 if path.is_dir() else path.stat().st_size
        self._zip: zipfile.ZipFile | None = None
        self.members: Mapping[str, Member] = MappingProxyType({})
        if path.is_dir():
            self.members = MappingProxyType(_files_below(path))
        elif _begins_as_zip(path):
            self._open_zip()

    def __enter__(self) -> ImportFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._zip is not None:
            self._zip.close()

    @property
    def is_single(self) -> bool:
        """Whether it is one file, neither a ZIP nor a folder."""
        return self._zip is None and not self.path.is_dir()

    def named(self, *names: str) -> list[str]:
        """The members whose file name is one of `names`, whatever folder they lie in, in the order of the archive."""
        return [member for member in self.members if PurePosixPath(member).name in names]

    @contextmanager
    def open(self, member: str | None = None) -> Iterator[IO[bytes]]:
        """The bytes of a member, or of the file itself, as a stream.

        Raises BrokenImportError, also while the stream is read: no such member, damaged, or longer than it says.
        """
        with _readable(self._opened(member)) as stream:
            yield stream

    def beginning(self, member: str | None = None, *, length: int = _BEGINNING) -> bytes:
        """The first `length` bytes of a member, or of the file itself; less where there are no more."""
        with self.open(member) as stream:
            return stream.read(length)

    def read(self, member: str | None = None, *, most: int) -> bytes:
        """All bytes. Raises BrokenImportError where there are more than `most`."""
        pieces, size = list[bytes](), 0
        with self.open(member) as stream:
            # `stream.read(most)` would take that much memory at once, however little there is.
            while size <= most and (piece := stream.read(_READ_AT_ONCE)):
                pieces.append(piece)
                size += len(piece)
        content = b"".join(pieces)
        if size > most:
            raise BrokenImportError(say("import_member_too_long", name=member or self.name, most=most))
        return content

    @contextmanager
    def on_disk(self, member: str | None, *, most: int, log: str = "") -> Iterator[Path]:
        """Where a member, or the file itself, can be opened by its path until the block ends.

        log: the ending of a member that belongs to it, and lies beside it then, too, where there is one. Raises
        BrokenImportError where one of them has more than `most` bytes.
        """
        beside = f"{member}{log}" if log and f"{member}{log}" in self.members else None
        for each in (member, *([beside] if beside else [])):
            if (self.size if each is None else self.members[each].size) > most:
                raise BrokenImportError(say("import_member_too_long", name=each or self.name, most=most))
        if self._zip is None:
            yield self.path if member is None else self.path / member
            return
        with self.scratch_file() as unpacked:
            self._unpack(member, unpacked)
            path = Path(unpacked.name)
            try:
                if beside is not None:
                    with path.with_name(f"{path.name}{log}").open("xb") as file:
                        self._unpack(beside, file)
                yield path
            finally:
                for left in path.parent.glob(f"{path.name}-*"):
                    left.unlink(missing_ok=True)

    def _unpack(self, member: str | None, into: IO[bytes]) -> None:
        with self.open(member) as packed:
            shutil.copyfileobj(packed, into)
        into.flush()

    @contextmanager
    def scratch_file(self) -> Iterator[IO[bytes]]:
        """An empty file to write to and read from; it goes when the block ends, if nobody has swept it away before."""
        if self._scratch is not None:
            self._scratch.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=self._scratch, delete=False) as unpacked:
            try:
                yield unpacked.file
            finally:
                Path(unpacked.name).unlink(missing_ok=True)

    def _opened(self, member: str | None) -> IO[bytes]:
        if member is None:
            if not self.is_single:
                raise BrokenImportError(say("import_not_one_file", name=self.name))
            return self.path.open("rb")
        if member not in self.members:
            raise BrokenImportError(say("import_member_missing", name=self.name, member=member))
        if self._zip is None:
            return (self.path / member).open("rb")
        return self._zip.open(member)

    def _open_zip(self) -> None:
        try:
            self._zip = zipfile.ZipFile(self.path)
            self.members = MappingProxyType(_checked_members(self._zip, size=self.size))
        except _UNREADABLE:
            self.close()
            raise BrokenImportError(say("import_zip_damaged", name=self.name)) from None
        except BrokenImportError:
            self.close()
            raise


def members_of_files(members: Iterable[str]) -> dict[str, str]:
    """Where the files of messages lie in a ZIP or a folder, by their ids: in `attachments/<id>/`, wherever that is."""
    return {found[1]: name for name in members if (found := _FILE_OF_A_MESSAGE.search(name))}


class _Readable(io.RawIOBase):
    """A stream whose failures are BrokenImportErrors."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        try:
            content = self._stream.read(len(view))
        except _UNREADABLE:
            raise BrokenImportError(say("import_cut_short")) from None
        view[: len(content)] = content
        return len(content)


@contextmanager
def _readable(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    with stream, io.BufferedReader(_Readable(stream), buffer_size=_BEGINNING) as buffered:
        yield buffered


def _begins_as_zip(path: Path) -> bool:
    # `zipfile.is_zipfile` also takes a JSON file that quotes an end record, and leaves out a download that was cut off.
    with path.open("rb") as stream:
        return stream.read(4) in _ZIP_BEGINNINGS


def _files_below(folder: Path) -> dict[str, Member]:
    """The files of a folder without following symbolic links."""
    found: dict[str, Member] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or not path.resolve().is_relative_to(folder.resolve()):
            continue
        if len(found) >= MOST_MEMBERS:
            raise BrokenImportError(say("import_folder_many", most=MOST_MEMBERS))
        name = path.relative_to(folder).as_posix()
        found[name] = Member(name=name, size=path.stat().st_size)
    return found


def _checked_members(archive: zipfile.ZipFile, *, size: int) -> dict[str, Member]:
    """The files of a ZIP. Raises BrokenImportError unless all of them are what an export may hold."""
    listed = archive.infolist()
    if len(listed) > MOST_MEMBERS:
        raise BrokenImportError(say("import_zip_many", most=MOST_MEMBERS))
    files = [info for info in listed if not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16)]
    for info in files:
        _check_member(info)
    if sum(info.file_size for info in files) > MOST_UNPACKED:
        raise BrokenImportError(say("import_zip_unpacked", gigabytes=MOST_UNPACKED // 2**30))
    # Members that share the same bytes unpack to far more than their sizes promise.
    if sum(info.compress_size for info in files) > size:
        raise BrokenImportError(say("import_zip_overlaps"))
    if len({info.filename for info in files}) < len(files):
        raise BrokenImportError(say("import_zip_twice"))
    return {info.filename: Member(name=info.filename, size=info.file_size) for info in files}


def _check_member(info: zipfile.ZipInfo) -> None:
    path = PurePosixPath(info.filename)
    # A name such as "." has no parts.
    is_outside = not path.parts or path.is_absolute() or ".." in path.parts or ":" in path.parts[0]
    if is_outside or "\\" in info.filename:
        raise BrokenImportError(say("import_zip_outside"))
    if info.flag_bits & _ENCRYPTED:
        raise BrokenImportError(say("import_encrypted"))
    if info.compress_type not in _METHODS:
        raise BrokenImportError(say("import_zip_method"))
    # Files of messages may be a table of zeros or a white picture; what one may have is checked before it is unpacked.
    is_known = _FILE_OF_A_MESSAGE.search(info.filename) is not None and info.file_size <= _LARGEST_FILE
    is_small = info.file_size <= _SMALL or is_known
    bomb = not is_small and info.file_size > MOST_EXPANSION * max(info.compress_size, 1)
    if info.file_size > LARGEST_MEMBER or bomb:
        raise BrokenImportError(say("import_zip_bomb", name=path.name, size=info.file_size))
