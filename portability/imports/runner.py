"""Working on imports: counting what a file holds, storing it batch by batch, and taking an import back.

Each batch is stored in one transaction together with how far the import came. While a process lives it keeps the file
open between two turns of work; after a restart it reads the file again up to where the import was.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from database.engine.database import Database
from database.engine.errors import ConflictError, StoreError
from database.imports.arriving import ArrivingConversation
from database.imports.batches import Batch, erase_filled, store_alone, store_batch, store_progress
from database.imports.repository import (
    ENDED,
    MOST_FAILURES,
    Import,
    StoppedError,
    claim_import,
    get_import,
    postpone,
    release_imports,
    seconds_to_next_try,
    working_imports,
)
from database.imports.standing import Standing, standing_of
from database.imports.storing import LONGEST_OF_FAILURE, Stored, known_source_ids
from database.imports.undoing import undo_some
from portability.errors import BrokenImportError
from portability.importers.account_archive import AccountArchiveImporter
from portability.importers.anaphora import AnaphoraImporter
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import (
    FailedItem,
    ImportedConversation,
    ImportedDocument,
    ImportedExport,
    ImportedItem,
    ImportedNothing,
    ImportedOther,
)
from portability.importers.registry import importer_named
from sentences import say

from .accepting import delete_stray_uploads, discard_upload
from .beside import Beside, Coming
from .documents import DocumentStore
from .files import FileStore
from .parts import PartStore
from .placing import mended, placed
from .reading import (
    Reading,
    ReadItems,
    add_title,
    characters_of,
    file_bytes_of,
    id_in_file,
    is_conversation,
    is_more,
    messages_of,
)
from .taking_back import DOCUMENT, MEMORIES, SETTINGS, TO_LEARN_FROM, Taker, take_back_beside

log = logging.getLogger(__name__)
FOLDER = "imports"
"""Below the data folder: the files of uploads, until their imports end."""
_TELL_EVERY = 0.5
_TIDY_EVERY = 3_600.0
_MOST_OPEN = 32
_STORED_WHOLE = {AnaphoraImporter.source, AccountArchiveImporter.source}
"""Sources of which imports from before schema 40 did not note what they brought."""
_NOT_TAKEN_BACK = say("import_not_taken_back")
_NO_MESSAGES = say("import_no_messages")
_BROKEN = say("import_damaged")
_FAULT = say("fault")
_FAULTS_OF_AN_ITEM = (ValueError, TypeError, OverflowError, RecursionError)
"""What values that nobody expected may lead to: one item is reported then, and the others come in."""


class ImportRunner:
    """Works on the imports of one store, one after the other. Call it from one thread.

    share: of its time that it works; the rest is left to whoever else needs the processor and the store. is_alone:
    whether nobody else does, so that it works without pauses. process: who works, "server" or another name: a server
    that starts takes over what the one before worked on.
    """

    def __init__(
        self,
        *,
        database: Database,
        uploads: Path,
        store_document: DocumentStore | None = None,
        store_part: PartStore | None = None,
        store_files: FileStore | None = None,
        share: float = 0.8,
        is_alone: Callable[[], bool] = lambda: False,
        process: str = "server",
    ) -> None:
        self.owner = f"{process}-{uuid.uuid4().hex}"
        self._database = database
        self._uploads = uploads
        self._store_document = store_document
        self._store_part = store_part
        self._store_files = store_files
        self._beside = Beside(database, store_document=store_document, store_part=store_part, store_files=store_files)
        self._share = share
        self._is_alone = is_alone
        self._open: dict[str, Reading] = {}
        self._waiting: dict[str, float] = {}
        """Until when imports wait that could not be stored, by the monotonic clock: the store may not say so."""
        self._tries: dict[str, int] = {}
        self._told_at = self._tidy_at = 0.0

    def work(self) -> bool:
        """Work for about a second on what waits; whether more may wait. Now and then it deletes uploads not needed."""
        has_more = self.run_due() is not None
        if time.monotonic() >= self._tidy_at:
            self._tidy_at = time.monotonic() + _TIDY_EVERY
            delete_stray_uploads(database=self._database, uploads=self._uploads)
        return has_more

    def run_due(self, *, seconds: float = 1.0, import_id: str | None = None) -> Import | None:
        """Work for about `seconds` on an import that waits for it; the import as it is then, None where none waits."""
        waiting = [each for each, until in self._waiting.items() if time.monotonic() < until]
        which = claim_import(database=self._database, owner=self.owner, import_id=import_id, but=waiting)
        if which is None:
            self._close_all()
            return None
        self._close_others(which.import_id)
        try:
            self._erase_half_filled(which)
            which = self._work(which, until=time.monotonic() + seconds)
        except StoppedError:
            self._close(which.import_id)
            release_imports(database=self._database, owner=self.owner, import_id=which.import_id)
        except BrokenImportError as error:
            which = self._failed(which, error.message)
        except StoreError as error:
            # The store is full, or busy: the import goes on when it can be written again.
            log.warning("the import %s has to wait: %s", which.import_id, error.message)
            self._close(which.import_id)
            self._postpone(which, error)
            raise
        except Exception:
            log.exception("the import %s failed", which.import_id)
            which = self._failed(which, _FAULT)
        self._waiting.pop(which.import_id, None)
        self._tries.pop(which.import_id, None)
        if which.state in ENDED:
            self._close(which.import_id)
            discard_upload(which, uploads=self._uploads)
        return which

    def run_until_idle(self) -> None:
        """Work until nothing waits."""
        while self.run_due() is not None:
            pass

    def close(self) -> None:
        """Let go of open files and of the imports that are worked on."""
        self._close_all()
        release_imports(database=self._database, owner=self.owner)

    def _work(self, which: Import, *, until: float) -> Import:
        steps = {"counting": self._count, "running": self._import_some, "undoing": self._undo_some}
        step = steps[which.state]
        state = which.state
        while which.state == state:
            begun = time.monotonic()
            which = step(which)
            worked = time.monotonic() - begun
            if not self._is_alone():
                time.sleep(worked * (1 / self._share - 1))
            if time.monotonic() > until:
                break
        return which

    def _postpone(self, which: Import, error: StoreError) -> None:
        """Let an import wait, even if the store can't be told."""
        which = replace(which, tries=max(which.tries, self._tries.get(which.import_id, 0)))
        self._tries[which.import_id] = which.tries + 1
        self._waiting[which.import_id] = time.monotonic() + seconds_to_next_try(which)
        with suppress(StoreError):
            postpone(database=self._database, which=which, owner=self.owner, reason=error.message)

    def _erase_half_filled(self, which: Import) -> None:
        """Erase what a process that died left half stored, or this one where it could not store the rest."""
        if which.import_id not in self._open:
            erase_filled(database=self._database, import_id=which.import_id)

    def _failed(self, which: Import, reason: str) -> Import:
        """End an import that can't go on; what it has stored stays, and can be taken back."""
        self._close(which.import_id)
        which = get_import(database=self._database, user_email=which.user_email, import_id=which.import_id)
        with suppress(StoppedError):
            return self._advance(which, state="failed", error=reason)
        return which

    # Counting

    def _count(self, which: Import) -> Import:
        """Count a part of the file; when its end is reached, the import is ready."""
        reading = self._reading(which)
        conversations, messages, titles = which.conversations, which.messages, list(which.titles)
        until, ended = time.monotonic() + _TELL_EVERY, True
        if reading.position == 0:
            conversations, messages, titles = 0, 0, []
        while (item := _next_readable(reading)) is not None:
            reading.position += 1
            if is_conversation(item):
                count = messages_of(item)
                conversations += not is_more(item)
                messages += count
                add_title(titles, item, count)
            else:
                reading.has_others |= not isinstance(item, FailedItem | ImportedNothing)
            if time.monotonic() > until:
                ended = False
                break
        counted: dict[str, Any] = {"conversations": conversations, "messages": messages, "titles": titles}
        if not ended:
            return self._advance(which, told=True, **counted)
        self._close(which.import_id)
        if not (conversations or reading.has_others):
            return self._advance(which, state="failed", error=say("import_no_conversations"), **counted)
        return self._advance(which, state="ready", counted=1, **counted)

    # Storing

    def _import_some(self, which: Import) -> Import:
        begun = time.monotonic()
        reading = self._reading(which)
        batch = self._read_batch(reading, which)
        if self._store_files is not None:
            self._keep_files(batch, reading.file, which, self._store_files)
        before, failures = self._others_stored(batch, reading.file, which)
        if batch.is_last:
            failures += self._beside.linked(which, after_each=partial(self._advance, which))
        conversations: list[ArrivingConversation] = batch.conversations
        try:
            return self._store(which, batch, conversations, before, failures, begun=begun)
        except ConflictError:
            # One of them is at fault: each is stored by itself, so that the others come in.
            self._store_each(which, batch, before, failures)
            return self._store(which, batch, [], before, failures, begun=begun)

    def _read_batch(self, reading: Reading, which: Import) -> ReadItems:
        batch, found = ReadItems(is_large=self._is_alone()), list[ImportedConversation]()
        while not batch.is_full:
            try:
                item = next(reading.items, None)
            except BrokenImportError as error:
                item, batch.broken = None, error.message
            if item is None:
                batch.is_last = True
                break
            batch.items += 1
            if isinstance(item, ImportedNothing):
                break
            self._add(item, batch, found, which)
        self._place_all(found, batch, which)
        reading.position += batch.items
        return batch

    def _add(
        self,
        item: ImportedConversation | ImportedOther | FailedItem,
        batch: ReadItems,
        found: list[ImportedConversation],
        which: Import,
    ) -> None:
        """Add an item to a batch, or to `found`, conversations that are still to be placed."""
        wanted = which.choice.get("conversations")
        if isinstance(item, FailedItem):
            batch.failures.append(item)
        elif wanted is not None and is_conversation(item) and id_in_file(item) not in wanted:
            batch.left_out += not is_more(item)
            batch.messages += messages_of(item)
        elif isinstance(each := self._as_before(item, which), ImportedConversation):
            found.append(each)
            batch.messages += messages_of(each)
            batch.characters += characters_of(each)
            batch.file_bytes += file_bytes_of(each)
        else:
            batch.others.append(each)
            batch.messages += messages_of(each)

    def _as_before(
        self, item: ImportedConversation | ImportedOther, which: Import
    ) -> ImportedConversation | ImportedOther:
        """A bundle as it is here since a version before imported it as a conversation of the first implementation."""
        former = item.formerly if isinstance(item, ImportedExport) else None
        return former if former is not None and self._known([former], which) else item

    def _known(self, some: Sequence[ImportedConversation], which: Import) -> set[str]:
        own: dict[str, Any] = {"user_email": which.user_email, "source": which.source, "database": self._database}
        return known_source_ids(**own, source_ids=[mended(each.source_id) for each in some])

    def _place_all(self, found: Sequence[ImportedConversation], batch: ReadItems, which: Import) -> None:
        known, seen = self._known(found, which) if found else set[str](), set[str]()

        def standing(source_id: str) -> Standing:
            own = {"user_email": which.user_email, "source": which.source, "source_id": source_id}
            return standing_of(database=self._database, **own) if source_id in known else Standing()

        for each in found:
            self._place(each, batch, seen, standing)

    def _place(
        self, item: ImportedConversation, batch: ReadItems, seen: set[str], standing: Callable[[str], Standing]
    ) -> None:
        try:
            made = placed(item, standing=standing)
        except _FAULTS_OF_AN_ITEM:
            log.warning("a conversation can't be imported", exc_info=True)
            batch.failures.append(FailedItem(str(item.title or item.source_id), _BROKEN))
            return
        arriving = made.conversation
        batch.failures += [FailedItem(arriving.title, problem) for problem in made.problems]
        if not arriving.messages:
            batch.failures.append(FailedItem(item.title or item.source_id, _NO_MESSAGES))
        elif arriving.continues and arriving.source_id in seen:
            batch.put_whole(arriving)
        elif arriving.source_id in seen:
            batch.failures.append(FailedItem(arriving.title, say("import_same_id")))
        else:
            seen.add(arriving.source_id)
            batch.conversations.append(arriving)

    def _keep_files(self, batch: ReadItems, file: ImportFile, which: Import, store: FileStore) -> None:
        """Store the files of the messages; each renews the lease, and none is stored of an import that was stopped."""
        for place, each in enumerate(batch.conversations):
            renew = partial(self._advance, which)
            batch.conversations[place], failures = store(which.user_email, each, file, after_each=renew)
            batch.failures += failures

    def _others_stored(self, batch: ReadItems, file: ImportFile, which: Import) -> tuple[Stored, list[FailedItem]]:
        """Store what has a transaction of its own. Done again after a crash, it changes nothing."""
        stored, failures = Stored(skipped=batch.left_out), list(batch.failures)
        for each in batch.others:
            name = each.path if isinstance(each, ImportedDocument) else each.item
            try:
                done = self._beside.store(each, Coming(which, file, failures, partial(self._advance, which)))
            except (BrokenImportError, StoreError) as error:
                failures.append(FailedItem(name, error.message))
            except _FAULTS_OF_AN_ITEM:
                log.warning("an item can't be imported", exc_info=True)
                failures.append(FailedItem(name, _BROKEN))
            else:
                stored.imported += done.imported
                stored.updated += done.updated
                stored.skipped += done.skipped or not (done.imported or done.updated)
        return stored, failures

    def _store(
        self,
        which: Import,
        batch: ReadItems,
        conversations: list[ArrivingConversation],
        before: Stored,
        failures: list[FailedItem],
        *,
        begun: float,
    ) -> Import:
        told = self._is_time_to_tell() or batch.is_last
        stored = Batch(
            conversations=conversations,
            items=batch.items,
            messages=batch.messages,
            before=before,
            failures=[
                {"item": each.item[:LONGEST_OF_FAILURE], "reason": each.reason[:LONGEST_OF_FAILURE]}
                for each in failures
            ],
            is_last=batch.is_last,
            broken=batch.broken,
            worked_ms=round((time.monotonic() - begun) * 1_000),
        )
        return store_batch(database=self._database, which=which, owner=self.owner, batch=stored, told=told)

    def _store_each(self, which: Import, batch: ReadItems, before: Stored, failures: list[FailedItem]) -> None:
        for each in batch.conversations:
            try:
                stored = store_alone(database=self._database, which=which, owner=self.owner, conversation=each)
            except ConflictError as error:
                failures.append(FailedItem(each.title, error.message))
            else:
                before.imported += stored.imported
                before.updated += stored.updated
                before.skipped += stored.skipped
                before.failures += stored.failures

    # Taking back

    def _undo_some(self, which: Import) -> Import:
        undone = undo_some(database=self._database, which=which)
        if undone.is_over:
            takers: dict[str, Taker | None] = dict.fromkeys((DOCUMENT, TO_LEARN_FROM), self._store_document)
            takers |= dict.fromkeys((MEMORIES, *SETTINGS), self._store_part)
            undone = take_back_beside(database=self._database, which=which, takers=takers)
        kept = [*which.kept, *undone.kept][:MOST_FAILURES]
        if undone.is_over:
            if (which.imported or which.updated) and which.source in _STORED_WHOLE and not which.noted:
                kept = [*kept, {"item": which.file_name, "reason": _NOT_TAKEN_BACK}][:MOST_FAILURES]
            return self._advance(which, kept=kept, state="undone")
        return self._advance(which, kept=kept, told=self._is_time_to_tell())

    # Files

    def _reading(self, which: Import) -> Reading:
        """The file of an import, read up to where it is stored, or as far as it was counted."""
        reading, position = self._open.get(which.import_id), which.position
        if reading is not None and reading.state == which.state and which.state == "counting":
            return reading
        if reading is not None and reading.state == which.state and reading.position == position:
            return reading
        self._close(which.import_id)
        path, files = Path(which.path), ExitStack()
        if not path.exists():
            raise BrokenImportError(say("import_file_gone"))
        file = files.enter_context(ImportFile(path, name=which.file_name, scratch=self._uploads))
        reading = Reading(importer_named(which.source).conversations(file), file, files, which.state)
        self._open[which.import_id] = reading
        while reading.position < position and next(reading.items, None) is not None:
            reading.position += 1
        return reading

    def _close(self, import_id: str) -> None:
        reading = self._open.pop(import_id, None)
        if reading is not None:
            close = getattr(reading.items, "close", None)
            if close is not None:
                close()
            reading.files.close()

    def _close_others(self, import_id: str) -> None:
        """Close the files of imports that wait for nothing, and those beyond the limit.

        The others stay open: imports take turns, and one whose file is read from its beginning in each turn would
        never end.
        """
        others = [each for each in self._open if each != import_id]
        if not others:
            return
        working = working_imports(database=self._database)
        waiting = [each for each in others if each in working]
        # The latest ones are closed, so that the earlier ones get on.
        for each in others:
            if each not in waiting[: _MOST_OPEN - 1]:
                self._close(each)

    def _close_all(self) -> None:
        for import_id in list(self._open):
            self._close(import_id)

    def _advance(self, which: Import, *, told: bool = False, **values: Any) -> Import:
        return store_progress(database=self._database, which=which, owner=self.owner, told=told, **values)

    def _is_time_to_tell(self) -> bool:
        if time.monotonic() - self._told_at < _TELL_EVERY:
            return False
        self._told_at = time.monotonic()
        return True


def _next_readable(reading: Reading) -> ImportedItem | None:
    """The next item; None at the end, also of a file that can't be read further: importing says why.

    Raises BrokenImportError where nothing of it can be read.
    """
    try:
        return next(reading.items, None)
    except BrokenImportError:
        if not reading.position:
            raise
        return None
