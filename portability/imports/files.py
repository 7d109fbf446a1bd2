"""Files of messages that come with the file that is imported: they become attachments, as if they were uploaded here.

They lie in it beside the conversations, or stand in the messages: whole, or as the text that was read in them.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath
from typing import IO, Any

from attachments.errors import AttachmentError, FileTooLargeError
from attachments.storage import Attachments, sha256_of
from database.engine.errors import AttachmentNotFoundError
from database.history.attachments import Attachment
from database.imports.arriving import ArrivingConversation, ArrivingVersion
from portability.errors import BrokenImportError
from portability.importers.exported_files import ExportedFile
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import FailedItem, ImportedExport
from sentences import say

_MEGABYTE = 1024 * 1024
_TEXT_OF = re.compile(r"\.(docx?|epub|jpe?g|od[pst]|pdf|png|pptx?|rtf|webp|xlsx?)", re.IGNORECASE)
"""Endings of files that are no text: where a source gives the text alone, its name here says that it is one."""


class FileStore:
    """Puts the files of imported messages among those of people."""

    def __init__(self, attachments: Attachments) -> None:
        self._attachments = attachments

    def __call__(
        self, user_email: str, conversation: ArrivingConversation, file: ImportFile, *, after_each: Callable[[], object]
    ) -> tuple[ArrivingConversation, list[FailedItem]]:
        """`conversation` with the files of `file` stored that its messages have, and those that can't be.

        The part of a file that can't be stored stays as it is. after_each: called after each file, which takes a while.
        """
        versions = (version for message in conversation.messages for version in message.versions)
        if not any(part["kind"] == "file" for version in versions for part in version.parts):
            return conversation, []
        failures = list[FailedItem]()

        def with_files(version: ArrivingVersion) -> ArrivingVersion:
            parts = list(version.parts)
            for place, part in enumerate(parts):
                if part["kind"] != "file":
                    continue
                try:
                    stored = self._of_part(user_email, part, version, file)
                except (AttachmentError, BrokenImportError) as error:
                    failures.append(FailedItem(f"{conversation.title}: {part['name']}", error.message))
                else:
                    if stored is None:
                        continue
                    parts[place] = stored.part(part["id"], at=part["at"])
                after_each()
            return replace(version, parts=tuple(parts), contents={})

        messages = [
            replace(message, versions=tuple(map(with_files, message.versions))) for message in conversation.messages
        ]
        return replace(conversation, messages=messages), failures

    def _of_part(
        self, user_email: str, part: Mapping[str, Any], version: ArrivingVersion, file: ImportFile
    ) -> Attachment | None:
        """The file of a part, stored; None where it is only named. Raises AttachmentError, BrokenImportError."""
        name = str(part["name"])
        if (member := version.members.get(part["id"])) is not None:
            return self._stored(user_email, file, member, name=name)
        if text := str(part.get("text", "")):
            name = f"{name}.txt" if _TEXT_OF.fullmatch(PurePath(name).suffix) else name
            return self._attachments.store_text(user_email, text, name=name)
        content = version.contents.get(part["id"], b"")
        if not content:
            return None
        with self._received(lambda received: received.write(content)) as path:
            return self._attachments.store(user_email, path, name=name)

    def of_export(
        self,
        user_email: str,
        files: Mapping[str, ExportedFile],
        export: ImportedExport,
        file: ImportFile,
        *,
        after_each: Callable[[], object],
    ) -> tuple[dict[str, Attachment], list[FailedItem]]:
        """Those of `files` that lie beside `export`, or that the person has already, by their ids there; the others.

        after_each: called after each file.
        """
        kept, failures = dict[str, Attachment](), list[FailedItem]()
        for file_id, each in files.items():
            try:
                kept[file_id] = self._exported(user_email, file_id, each, file, export.members.get(file_id))
            except (AttachmentError, BrokenImportError) as error:
                failures.append(FailedItem(f"{export.item}: {each.name}", error.message))
            after_each()
        return kept, failures

    def _exported(
        self, user_email: str, file_id: str, each: ExportedFile, file: ImportFile, member: str | None
    ) -> Attachment:
        """Raises AttachmentError, BrokenImportError."""
        known = self._attachments.named(user_email, each.sha256, name=each.name) if each.sha256 else None
        if known is not None:
            return known
        if member is not None:
            return self._stored(user_email, file, member, name=each.name, sha256=each.sha256)
        try:
            return self._attachments.get(user_email, file_id)
        except AttachmentNotFoundError:
            raise BrokenImportError(say("import_file_not_there")) from None

    def _stored(self, user_email: str, file: ImportFile, member: str, *, name: str, sha256: str = "") -> Attachment:
        """sha256: what its content has to be, if it is known. Raises AttachmentError, BrokenImportError."""
        largest = self._attachments.largest
        if member in file.members and file.members[member].size > largest * _MEGABYTE:
            raise FileTooLargeError(say("file_too_large", megabytes=largest))

        def unpack(received: IO[bytes]) -> None:
            with file.open(member) as packed:
                shutil.copyfileobj(packed, received)

        with self._received(unpack) as path:
            if sha256 and sha256_of(path) != sha256:
                raise BrokenImportError(say("import_file_changed"))
            return self._attachments.store(user_email, path, name=name)

    @contextmanager
    def _received(self, write: Callable[[IO[bytes]], object]) -> Iterator[Path]:
        """A file with what `write` writes. Raises BrokenImportError, FilesUnavailableError."""
        with self._attachments.receiving() as path:
            try:
                with path.open("xb") as received:
                    write(received)
            except OSError as error:
                raise BrokenImportError(say("import_file_not_stored", why=error.strerror or str(error))) from None
            yield path
