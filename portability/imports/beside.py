"""What a history has beside conversations of other programs: our own exports, documents, memories and settings.

Each is stored by itself; stored again after a crash, it changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from database.engine.database import Database
from database.engine.errors import InvalidChangeError
from database.history.attachments import Attachment
from database.imports.changes import BroughtBy
from database.imports.importing import ImportedFile
from database.imports.outside import KnownAlready, link_noted, point_noted
from database.imports.repository import Import
from database.imports.storing import Stored
from database.imports.workspaces import add_workspace
from portability.importers.anaphora import AnaphoraImporter, OverlapError, import_export
from portability.importers.exported_files import ExportedFile, KeepFiles
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import (
    FailedItem,
    ImportedExport,
    ImportedKnowledgeBase,
    ImportedOther,
    ImportedPart,
    ImportedWorkspace,
)
from sentences import say

from .documents import DocumentStore
from .files import FileStore
from .parts import PartStore


class Coming(NamedTuple):
    """An import whose things are stored. failures: gets what stays out of it. after_each: called after each file."""

    which: Import
    file: ImportFile
    failures: list[FailedItem]
    after_each: Callable[[], object]


class Beside:
    """Stores what comes beside conversations, by those who can store it here; None of them for those who can't."""

    def __init__(
        self,
        database: Database,
        *,
        store_document: DocumentStore | None,
        store_part: PartStore | None,
        store_files: FileStore | None,
    ) -> None:
        self._database = database
        self._store_document = store_document
        self._store_part = store_part
        self._store_files = store_files

    def store(self, each: ImportedOther, coming: Coming) -> Stored:
        """How many things of it are new here, or up to date now. Raises BrokenImportError, StoreError."""
        which = coming.which
        if isinstance(each, ImportedExport):
            return self._export(each, coming)
        if isinstance(each, ImportedPart | ImportedKnowledgeBase):
            return self._part(each, coming)
        if isinstance(each, ImportedWorkspace):
            own: dict[str, Any] = {"user_email": which.user_email, "import_id": which.import_id}
            domain = which.choice.get("domain") or "assistant"
            return Stored(imported=add_workspace(each.item, database=self._database, domain=domain, **own))
        if self._store_document is None:
            raise InvalidChangeError(say("import_documents_not_here"))
        return Stored(imported=int(self._store_document(which.user_email, each, import_id=which.import_id)))

    def linked(self, which: Import, *, after_each: Callable[[], object]) -> Iterator[FailedItem]:
        """Link conversations that answer or name each other, those of earlier imports, too; what of this one can't be.

        after_each: called after each batch of messages. Raises StoreError.
        """
        own: dict[str, Any] = {"database": self._database, "user_email": which.user_email}
        point_noted(**own, known=partial(self._known, which.user_email), after_each=after_each)
        for title, count in link_noted(**own, import_id=which.import_id).items():
            yield FailedItem(title or which.file_name, say("import_references_dropped", count=count))

    def _known(self, user_email: str, ids: Collection[str]) -> Collection[str]:
        """Those of these ids that memories of the person have; none where memories can't be read here."""
        return () if self._store_part is None else self._store_part.known(user_email, ids)

    def _export(self, each: ImportedExport, coming: Coming) -> Stored:
        which, failures = coming.which, coming.failures
        own: dict[str, Any] = {"database": self._database, "user_email": which.user_email}
        own["by"] = BroughtBy(which.import_id, which.source if each.formerly is None else AnaphoraImporter.source)
        own["keep_files"] = self._keep_files_of(each, coming)
        try:
            place = which.choice.get("workspace_id")
            stored = import_export(each.content, **own, folders=each.folders, workspace_id=place)
        except OverlapError as error:
            failures += [*_binned(each, error.binned), *_not_taken_over(each, error.known)]
            return Stored()
        failures += _left_out(each, stored)
        if stored.is_here:
            return Stored()
        imported = stored.conversations if stored.updated or stored.differing else max(stored.conversations, 1)
        return Stored(imported=imported, updated=stored.updated)

    def _keep_files_of(self, export: ImportedExport, coming: Coming) -> KeepFiles | None:
        """What keeps the files of an export; those that can't be kept are failures."""
        store = self._store_files
        if store is None:
            return None

        def keep(files: Mapping[str, ExportedFile]) -> Mapping[str, Attachment]:
            owner, file = coming.which.user_email, coming.file
            kept, failed = store.of_export(owner, files, export, file, after_each=coming.after_each)
            coming.failures.extend(failed)
            return kept

        return keep

    def _part(self, each: ImportedPart | ImportedKnowledgeBase, coming: Coming) -> Stored:
        """Store memories or settings. Those of an archive count as one thing, memories of other files each."""
        if self._store_part is None:
            raise InvalidChangeError(say("import_memories_not_here"))
        user_email = coming.which.user_email
        own: dict[str, Any] = {"import_id": coming.which.import_id, "failures": coming.failures}
        if isinstance(each, ImportedPart):
            return Stored(imported=int(self._store_part(user_email, each, **own)))
        stored, left_out = self._store_part.knowledge_base(user_email, each, coming.file, **own)
        if left_out:
            coming.failures.append(FailedItem(each.item, say("import_rows_left_out", count=left_out)))
        return stored


def _not_taken_over(export: ImportedExport, known: KnownAlready) -> Iterator[FailedItem]:
    """What of an export stays out that overlaps with what is here; nothing where all of it is here to be seen."""
    if known.binned:
        yield FailedItem(export.title or export.item, say("import_in_bin", count=known.binned))
    if known.new:
        yield FailedItem(export.title or export.item, say("import_overlaps", count=known.new))


def _binned(export: ImportedExport, binned: Iterable[tuple[str, int]]) -> Iterator[FailedItem]:
    """The conversations of an export that are in the bin here, and stay as they are."""
    for title, count in binned:
        yield FailedItem(title or export.item, say("import_in_bin", count=count))


def _left_out(export: ImportedExport, stored: ImportedFile) -> Iterator[FailedItem]:
    """What of an export could not be taken over, though the rest is here."""
    yield from _binned(export, stored.binned)
    for title, agent in stored.without_agent:
        yield FailedItem(title or export.item, say("import_agent_missing", name=agent))
    if stored.differing:
        yield FailedItem(export.title or export.item, say("import_texts_differ", count=stored.differing))
    if stored.dropped:
        yield FailedItem(export.item, say("import_references_dropped", count=stored.dropped))
