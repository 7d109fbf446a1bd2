"""Files of messages that lie in the file that is imported: they become attachments, as if they were uploaded here."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace

from attachments.errors import AttachmentError, FileTooLargeError
from attachments.storage import Attachments, sha256_of
from database.attachments import Attachment
from database.errors import AttachmentNotFoundError
from database.imports.arriving import ArrivingConversation, ArrivingVersion
from portability.errors import BrokenImportError
from portability.importers.anaphora import ExportedFile
from portability.importers.import_file import ImportFile
from portability.importers.imported import FailedItem, ImportedExport
from sentences import say

_MEGABYTE = 1024 * 1024


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
        if not any(version.members for message in conversation.messages for version in message.versions):
            return conversation, []
        failures = list[FailedItem]()

        def with_files(version: ArrivingVersion) -> ArrivingVersion:
            parts = list(version.parts)
            for place, part in enumerate(parts):
                if (member := version.members.get(part["id"])) is None:
                    continue
                try:
                    stored = self._stored(user_email, file, member, name=part["name"])
                except (AttachmentError, BrokenImportError) as error:
                    failures.append(FailedItem(f"{conversation.title}: {part['name']}", error.message))
                else:
                    parts[place] = stored.part(part["id"], at=part["at"])
                after_each()
            return replace(version, parts=tuple(parts))

        messages = [
            replace(message, versions=tuple(map(with_files, message.versions))) for message in conversation.messages
        ]
        return replace(conversation, messages=messages), failures

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
        with self._attachments.receiving() as path:
            try:
                with file.open(member) as packed, path.open("xb") as received:
                    shutil.copyfileobj(packed, received)
            except OSError as error:
                raise BrokenImportError(say("import_file_not_stored", why=error.strerror or str(error))) from None
            if sha256 and sha256_of(path) != sha256:
                raise BrokenImportError(say("import_file_changed"))
            return self._attachments.store(user_email, path, name=name)
