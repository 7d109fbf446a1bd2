"""Permanent erasure, in both stores and the data folder, of closed accounts and of retracted memories."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

from attachments.storage import Attachments
from chat.context.knowledge import KnowledgeAccess
from database.activities.knowledge import blank_changes
from database.engine.database import Database
from database.maintenance.account_erasure import closed_accounts, erase_account, has_running_turn, is_worked_on
from database.maintenance.compaction import compact_file, merge_word_indexes
from truth_management_system.interface.structured_api import (
    changes_before,
    changes_of,
    erase_claims,
    erase_user,
    forget_former_texts,
    merge_search_indexes,
    retracted_before,
)
from vault.documents import Vaults

log = logging.getLogger(__name__)
_BYTES_A_MEGABYTE = 1_000_000
_BUNDLES = "bundles"


class AccountErasure:
    """Erases closed accounts and retracted memories. Work that a crash interrupts is done by the next call.

    forget: called with an account's address before its erasure, to stop its turns and to drop its cached objects.
    is_busy: whether a request or a tool call of this account, begun before the account was closed, may still write,
    here or at another process; such an account is erased by a later call. compact_up_to: in megabytes. Smaller stores
    are compacted at once; for larger ones the operator runs `flask data compact`, since writers wait meanwhile.
    """

    def __init__(
        self,
        *,
        database: Database,
        knowledge: KnowledgeAccess,
        compact_up_to: int,
        vaults: Vaults,
        attachments: Attachments,
        erase_tool_servers: Callable[[str], None],
        erase_uploads: Callable[[str], None],
        forget: Callable[[str], None] = lambda _user_email: None,
        is_busy: Callable[[str], bool] = lambda _user_email: False,
    ) -> None:
        self._database = database
        self._knowledge = knowledge
        self._vaults = vaults
        self._attachments = attachments
        self._erase_tool_servers = erase_tool_servers
        self._erase_uploads = erase_uploads
        self._compact_up_to = compact_up_to * _BYTES_A_MEGABYTE
        self._forget = forget
        self._is_busy = is_busy

    def erase_closed(self) -> int:
        """Erase the closed accounts that nothing in progress may still write for; how many were erased.

        Raises StoreError, KnowledgeUnavailableError; what was not erased is erased by the next call.
        """
        erased = 0
        for user_email in closed_accounts(database=self._database):
            self._forget(user_email)
            if self._is_written_for(user_email):
                continue
            erase_user(self._knowledge.database(), user_email)
            self._remove_bundles(user_email)
            self._vaults.erase(user_email)
            self._attachments.erase(user_email)
            self._erase_tool_servers(user_email)
            self._erase_uploads(user_email)
            erase_account(database=self._database, user_email=user_email)
            erased += 1
        if erased:
            log.info("%d accounts were erased", erased)
            self._clear_files()
        return erased

    def _is_written_for(self, user_email: str) -> bool:
        # Requests first: a running request may start a turn or an import, but these never start a request.
        if self._is_busy(user_email) or has_running_turn(database=self._database, user_email=user_email):
            return True
        return is_worked_on(database=self._database, user_email=user_email)

    def forget_memories(self, *, before: str, user_email: str | None = None) -> tuple[int, int]:
        """Erase memories retracted before `before` (ISO 8601), and the earlier row images of changes older than that.

        user_email: None for all users. Returns how many memories were erased, and how many changes can no longer be
        undone. Raises StoreError, KnowledgeUnavailableError.
        """
        database, erased, forgotten = self._knowledge.database(), 0, 0
        while claim_ids := retracted_before(database, before, user_email=user_email):
            # The claims are deleted last: an interrupted run finds them again and continues.
            blank_changes(database=self._database, ids=changes_of(database, claim_ids))
            erase_claims(database, claim_ids)
            erased += len(claim_ids)
        while audit_ids := changes_before(database, before, user_email=user_email):
            blank_changes(database=self._database, ids=audit_ids)
            forget_former_texts(database, audit_ids)
            forgotten += len(audit_ids)
        if erased or forgotten:
            self._clear_files()
        return erased, forgotten

    def compacts_itself(self) -> bool:
        """Whether both stores are small enough to be compacted by `erase_closed`."""
        return all(file.stat().st_size <= self._compact_up_to for file in self._files())

    def compact(self) -> tuple[int, int]:
        """Remove deleted content from the files of both stores, whatever their size; bytes before and after.

        Raises StoreError, KnowledgeUnavailableError.
        """
        merge_word_indexes(database=self._database)
        merge_search_indexes(self._knowledge.database())
        before = self._bytes()
        for file in self._files():
            compact_file(file)
        return before, self._bytes()

    def _bytes(self) -> int:
        """Of both files, each with the log that is moved into it."""
        parts = [part for file in self._files() for part in (file, file.with_name(f"{file.name}-wal"))]
        return sum(part.stat().st_size for part in parts if part.exists())

    def _clear_files(self) -> None:
        if self.compacts_itself():
            self.compact()
        else:
            log.warning("the stores are too large to be compacted now: run `flask --app server data compact`")

    def _files(self) -> list[Path]:
        files = (self._database.backend.file, self._knowledge.file)
        return [file for file in files if file is not None and file.exists()]

    def _remove_bundles(self, user_email: str) -> None:
        for folder in (self._database.folder / _BUNDLES).glob("*"):
            # The id of a conversation begins with its owner's address.
            if folder.name.rpartition("_")[0] == user_email:
                shutil.rmtree(folder, ignore_errors=True)
