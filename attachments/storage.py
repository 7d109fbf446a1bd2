"""The files of all people, each kept once for its owner, by its content.

`<data>/users/attachments/<user_id>/<sha256>/` holds `original`, and of `attachments.reading_child` `text.json` and
`picture`. `incoming` beside the people's folders holds what is being stored: a folder is complete before it gets its
place, so that a crash leaves nothing half-made there.
"""

from __future__ import annotations

import hashlib
import secrets
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import orjson

from database.accounts.quotas import Quota, bytes_of, quota_of
from database.accounts.users import get_user, user_ids
from database.engine.clock import iso_in
from database.engine.database import Database
from database.engine.durability import flush_to_disk
from database.engine.errors import UserNotFoundError
from database.history import attachments as rows
from database.history.attachments import Attachment
from language_models.file_lock import locked_within
from sentences import say

from .errors import FilesUnavailableError, FileTooLargeError, QuotaExceededError
from .extraction import PICTURE, TEXT, Extracted, Limits, extract, keep_text

FOLDER = "attachments"
INCOMING = "incoming"
UNSENT_HOURS = 24
"""So long a file is kept that no message uses."""
UNNAMED_DAYS = 30
"""So long a content is kept after it was first found without a row."""
_MEGABYTE = 1024 * 1024
_ORIGINAL = "original"
_UNNAMED = "without_row"
"""In the folder of a content: made by the sweep that first found no row of it."""
_LOCK = "locks/attachments"
_PATIENCE = 30.0
_AT_ONCE = 1 << 20
_ABANDONED_SECONDS = 3_600.0
_DAY_SECONDS = 86_400.0
_LONGEST_NAME = 200
_NAMELESS = "file"


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachments:
    """Where people's files are.

    largest, quota: megabytes of one file, and of all files and documents of a person for whom no administrator has set
    anything else. unmetered: the people whose documents lie in folders of the operator's choice, and are not counted.
    """

    database: Database
    largest: int = 50
    quota: int = 5_000
    unmetered: Collection[str] = ()
    limits: Limits = field(default_factory=Limits)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @property
    def folder(self) -> Path:
        """The folder of all files."""
        return self.database.folder / FOLDER

    @contextmanager
    def receiving(self) -> Iterator[Path]:
        """A path for a file that is about to be received; it is gone afterwards. Raises FilesUnavailableError."""
        folder = self.folder / INCOMING
        _make(folder)
        path = folder / f"{secrets.token_hex(16)}.part"
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def store(self, user_email: str, received: Path, *, name: str) -> Attachment:
        """Keep the file at `received`, which may be moved, under `name`; it is read in a process of its own.

        Raises FileTooLargeError, FileTypeError, QuotaExceededError, FilesUnavailableError, UserNotFoundError.
        """
        name = tidy_name(name)
        read = partial(extract, received, name, limits=self.limits)
        return self._stored(user_email, received, name=name, read=read)

    def store_text(self, user_email: str, text: str, *, name: str) -> Attachment:
        """Keep a text as a file, whatever it looks like. Raises what `store` raises, but FileTypeError."""
        name = tidy_name(name)
        with self.receiving() as path:
            try:
                path.write_bytes(text.encode())
            except OSError as error:
                raise FilesUnavailableError(f"The file can't be stored: {error.strerror}.") from error
            return self._stored(user_email, path, name=name, read=partial(keep_text, text, name))

    def _stored(self, user_email: str, received: Path, *, name: str, read: Callable[..., Extracted]) -> Attachment:
        """read: what is known of the file, written `into` a folder. Raises what `store` raises."""
        try:
            size = received.stat().st_size
            if size > self.largest * _MEGABYTE:
                raise FileTooLargeError(say("file_too_large", megabytes=self.largest))
            sha256 = sha256_of(received)
            with self._placing():
                known = self._known(user_email, sha256, name, size=size)
            if known is not None:
                return known
            with self._read(received, read) as (draft, extracted), self._placing():
                # Other uploads of the person may have ended meanwhile.
                known = self._known(user_email, sha256, name, size=size)
                if known is not None:
                    return known
                self._put(draft, self._place(user_email, sha256))
                return self._added(user_email, sha256, {**asdict(extracted), "name": name, "size": size})
        except OSError as error:
            raise FilesUnavailableError(f"The file can't be stored: {error.strerror}.") from error

    def named(self, user_email: str, sha256: str, *, name: str) -> Attachment | None:
        """The file under this name, if the person has its content already; None otherwise.

        Raises FilesUnavailableError.
        """
        with self._placing():
            known = rows.stored_content(database=self.database, user_email=user_email, sha256=sha256)
            if known is None or not self.original(known).is_file():
                return None
            return self._added(user_email, sha256, {**asdict(known), "name": tidy_name(name)})

    @contextmanager
    def _placing(self) -> Iterator[None]:
        """Held while a content gets its first row or loses its last one: no file is erased that a new row names.

        It keeps other processes out, too. Raises FilesUnavailableError.
        """
        with self._lock, ExitStack() as holding:
            try:
                holding.enter_context(locked_within(self.database.folder / _LOCK, seconds=_PATIENCE))
            except OSError as error:
                raise FilesUnavailableError(f"The files can't be locked: {error.strerror}.") from error
            yield

    def _known(self, user_email: str, sha256: str, name: str, *, size: int) -> Attachment | None:
        """The file under this name, if the person has its content already. Call it while `_placing` is held.

        Raises QuotaExceededError where the content is new and there is no room for `size` bytes.
        """
        known = rows.stored_content(database=self.database, user_email=user_email, sha256=sha256)
        if known is None or not self.original(known).is_file():
            self.require_room(user_email, 0 if known is not None else size)
            return None
        return self._added(user_email, sha256, {**asdict(known), "name": name})

    def _added(self, user_email: str, sha256: str, fields: dict[str, Any]) -> Attachment:
        """Store the row. Another process may have stored files of the person since there was room for this one."""
        megabytes, size = self._megabytes(user_email), int(fields["size"])

        def admit(others: int) -> None:
            _refuse_over_quota(others + size, megabytes)

        own: dict[str, Any] = {"database": self.database, "user_email": user_email, "unmetered": self.unmetered}
        return rows.add_attachment(**own, sha256=sha256, fields=fields, admit=admit)

    def require_room(self, user_email: str, more: int) -> None:
        """Raises QuotaExceededError where `more` bytes would be more than the person's files and documents may have."""
        _refuse_over_quota(self.bytes_of(user_email) + more, self._megabytes(user_email))

    def bytes_of(self, user_email: str) -> int:
        """How many bytes the person's files and documents have."""
        return bytes_of(database=self.database, user_email=user_email, unmetered=self.unmetered)

    def _megabytes(self, user_email: str) -> int:
        """How much room the person's files may take."""
        own = quota_of(database=self.database, user_email=user_email, defaults=Quota(file_megabytes=self.quota))
        return own.file_megabytes or 0

    @contextmanager
    def _read(self, received: Path, read: Callable[..., Extracted]) -> Iterator[tuple[Path, Extracted]]:
        """A folder with the file and what was read of it, complete on the disk.

        It is gone afterwards, unless it got its place. Raises OSError, FileTypeError, FileTooLargeError.
        """
        draft = self.folder / INCOMING / secrets.token_hex(16)
        _make(draft)
        try:
            extracted = read(into=draft)
            received.replace(draft / _ORIGINAL)
            for file in (*draft.iterdir(), draft):
                flush_to_disk(file)
            yield draft, extracted
        finally:
            shutil.rmtree(draft, ignore_errors=True)

    def _put(self, draft: Path, final: Path) -> None:
        _make(final.parent)
        # What lies there has no row: it was left by a crash, or its original is missing.
        shutil.rmtree(final, ignore_errors=True)
        draft.rename(final)
        flush_to_disk(final.parent)

    def get(self, user_email: str, attachment_id: str) -> Attachment:
        """A file of the person. Raises AttachmentNotFoundError."""
        return rows.get_attachment(database=self.database, user_email=user_email, attachment_id=attachment_id)

    def of_anybody(self, attachment_id: str) -> Attachment:
        """A file, whoever's it is: for the server's own work. Raises AttachmentNotFoundError."""
        return rows.any_attachment(database=self.database, attachment_id=attachment_id)

    def original(self, attachment: Attachment) -> Path:
        """The file as it was uploaded."""
        return self._place(attachment.user_email, attachment.sha256) / _ORIGINAL

    def picture(self, attachment: Attachment) -> Path:
        """The picture, made anew: upright, without metadata, as JPEG or PNG."""
        return self._place(attachment.user_email, attachment.sha256) / PICTURE

    def pages(self, attachment: Attachment) -> Sequence[str]:
        """The text of each page, one "page" where the format has none; () for a file without text, or that is gone."""
        try:
            pages: list[str] = orjson.loads((self._place(attachment.user_email, attachment.sha256) / TEXT).read_bytes())
        except (OSError, orjson.JSONDecodeError, UserNotFoundError):
            return ()
        return pages

    def discard(self, user_email: str, attachment_id: str) -> None:
        """Erase a file that no message uses. Raises AttachmentNotFoundError, ConflictError for one in use."""
        deleted = rows.delete_unsent(database=self.database, user_email=user_email, attachment_id=attachment_id)
        self._erase_content(deleted)

    def sweep(self) -> int:
        """Erase the files that no message uses any more, and what interrupted uploads left; how many files."""
        unused = rows.delete_unused(database=self.database, before=iso_in(hours=-UNSENT_HOURS))
        for attachment in unused:
            self._erase_content(attachment)
        for left in _entries(self.folder / INCOMING):
            if _is_abandoned(left):
                _erase(left)
        self._erase_contents_without_rows()
        return len(unused)

    def _erase_contents_without_rows(self) -> None:
        """Erase what a crash left between a content and its row, or between the last row and its content.

        A row may also be missing because the store is not the one that had it: lost and made anew, or restored as it
        was before the file came. So a content is erased `UNNAMED_DAYS` after a sweep first found it without a row, and
        the folder of an account that the store doesn't know is left alone: erasing an account removes its folder first.
        """
        people = user_ids(database=self.database).values()
        contents = (each for user_id in sorted(people) for each in _entries(self.folder / user_id) if each.is_dir())
        old = [content for content in contents if _is_abandoned(content)]
        if not old:
            return
        with self._placing():
            known = rows.all_contents(database=self.database)
            for content in old:
                mark = content / _UNNAMED
                with suppress(OSError):  # of a full or failing disk: a later sweep does it
                    if (content.parent.name, content.name) in known:
                        mark.unlink(missing_ok=True)
                    elif not mark.exists():
                        mark.touch(mode=0o600)
                    elif _is_abandoned(mark, seconds=UNNAMED_DAYS * _DAY_SECONDS):
                        _erase(content)

    def list_of(self, user_email: str) -> list[Attachment]:
        """All files of the person, the oldest first."""
        return rows.list_attachments(database=self.database, user_email=user_email)

    def erase(self, user_email: str) -> None:
        """Erase all files of a person whose account is erased; their rows go with the account.

        What can't be removed now lies among the interrupted uploads, which the next sweeps erase. Raises
        FilesUnavailableError.
        """
        left = self.folder / INCOMING / secrets.token_hex(16)
        with suppress(UserNotFoundError):
            person = self._person(user_email)
            if not person.is_dir():
                return
            _make(left.parent)
            try:
                person.rename(left)
            except OSError as error:
                raise FilesUnavailableError(f"The files can't be erased: {error.strerror}.") from error
            _erase(left)

    def _erase_content(self, attachment: Attachment) -> None:
        own = {"user_email": attachment.user_email, "sha256": attachment.sha256}
        # What is not erased now, the sweeps find.
        with suppress(UserNotFoundError, FilesUnavailableError), self._placing():
            if rows.stored_content(database=self.database, **own) is None:
                _erase(self._place(**own))

    def _person(self, user_email: str) -> Path:
        return self.folder / get_user(database=self.database, user_email=user_email).user_id

    def _place(self, user_email: str, sha256: str) -> Path:
        return self._person(user_email) / sha256


def _refuse_over_quota(size: int, megabytes: int) -> None:
    """Raises QuotaExceededError for more bytes than these megabytes."""
    if size > megabytes * _MEGABYTE:
        raise QuotaExceededError(say("file_quota_used_up", megabytes=megabytes))


def tidy_name(name: str) -> str:
    """A file's name without its folders, control characters and what is too long.

    Here it is never used as a path, but in the archive of an account it is the last part of one.
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    shown = "".join(each if each.isprintable() else " " for each in last)
    shown = " ".join(shown.split())
    if len(shown) > _LONGEST_NAME:
        stem, dot, extension = shown.rpartition(".")
        ending = f".{extension}" if dot and len(extension) < 16 else ""
        shown = (stem if ending else shown)[: _LONGEST_NAME - len(ending)] + ending
    return shown if shown.strip(".") else _NAMELESS


def sha256_of(file: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits. Raises OSError."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while chunk := opened.read(_AT_ONCE):
            digest.update(chunk)
    return digest.hexdigest()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise FilesUnavailableError(f"The folder of files can't be made: {error.strerror}.") from error


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _is_abandoned(path: Path, *, seconds: float | None = None) -> bool:
    """Whether nothing has changed there for so long, by default: that no upload is at work on it."""
    with suppress(FileNotFoundError):
        status = path.stat()
        longest = _ABANDONED_SECONDS if seconds is None else seconds
        return time.time() - max(status.st_mtime, status.st_ctime) > longest
    return False


def _erase(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
