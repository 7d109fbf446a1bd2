"""Keeping the index of all vaults up to date: watching for writes by other programs, scans as jobs, and a check."""

from __future__ import annotations

import logging
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from database.accounts.users import user_ids
from database.conversations.deletion import BIN_DAYS
from database.engine.clock import now
from database.engine.errors import StoreError
from database.jobs import Job, Progress
from database.maintenance.findings import Finding, first_ones
from database.vault.documents import counts, known_files

from . import history, paths
from .documents import Vault, Vaults
from .errors import VaultUnavailableError

if TYPE_CHECKING:
    from watchfiles.main import FileChange

log = logging.getLogger(__name__)
JOB = "index_vault"
_STEP_SECONDS = 1.0
_WAIT_MS = 500
_BURST_MS = 200
_BEGIN_EVERY_SECONDS = 600.0
"""A watch that has ended, for a disk that was gone or too few watches of the system, begins again this often."""
RULE = "index of documents"


class VaultWatcher:
    """Watches the files of all vaults, in one thread that calls `look` repeatedly."""

    def __init__(self, vaults: Vaults) -> None:
        self._vaults = vaults
        self._watched: tuple[str, ...] = ()
        self._heard: Iterator[set[FileChange]] = iter(())
        self._begun_at = 0.0

    def look(self) -> int:
        """Index what was written since the last call, waiting up to half a second for changes.

        Returns how many documents changed. A new vault starts a scan of all. Raises StoreError.
        """
        vaults = self._vaults.existing()
        roots = {os.path.realpath(vault.root): vault for vault in vaults}
        watched = tuple(sorted(roots))
        if watched != self._watched:
            # Watched before they are scanned: what is written meanwhile is heard of.
            # Whatever the watch before had still to tell is found by the scan too.
            self._watched, self._heard, self._begun_at = watched, self._watching(watched), time.monotonic()
            next(self._heard, None)
            return self.scan()
        changes = next(self._heard, None)
        if changes is None:
            self._begin_again_later()
            return 0
        return self._follow(roots, changes)

    def scan(self) -> int:
        """Scan all files of all vaults that are there; returns how many documents changed. Raises StoreError."""
        changed = 0
        for vault in self._vaults.existing():
            try:
                changed += sum(part.written + part.removed for part in vault.refresh())
            except VaultUnavailableError as error:
                log.warning("the documents of a vault are not looked at: %s", error.message)
        return changed

    def _begin_again_later(self) -> None:
        """Have the next call watch anew, and scan, when a watch that has ended began long enough ago."""
        if time.monotonic() - self._begun_at >= _BEGIN_EVERY_SECONDS:
            self._watched = ()

    def _follow(self, roots: dict[str, Vault], changes: set[FileChange]) -> int:
        heard: dict[str, list[str]] = defaultdict(list)
        for _, changed in sorted(changes, key=lambda change: change[1]):
            root = next((root for root in roots if changed.startswith(root + os.sep)), None)
            if root is not None:
                heard[root].append(Path(changed).relative_to(root).as_posix())
        # A file that is made at once in a new folder is not heard of: `follow` looks into each folder that is named.
        return sum(roots[root].follow(changed) for root, changed in heard.items())

    def _watching(self, roots: tuple[str, ...]) -> Iterator[set[FileChange]]:
        """Yield changes below `roots`; an empty set after half a second without one."""
        if not roots:
            return
        from watchfiles import watch

        try:
            yield from watch(
                *roots,
                watch_filter=lambda _, path: not _is_hidden(path, roots),
                rust_timeout=_WAIT_MS,
                debounce=_BURST_MS,
                yield_on_timeout=True,
                raise_interrupt=False,
            )
        except OSError as error:
            # Such as: the system watches no further folder.
            log.warning("what other programs write is found by scans alone until watching begins again: %s", error)


class VaultIndexing:
    """The kind of job that scans a person's vault, with progress in documents.

    `state`: {"full": whether unchanged files are read too, "skip": how many were read}.
    """

    name = JOB
    every = None

    def __init__(self, vaults: Vaults) -> None:
        self._vaults = vaults

    def step(self, job: Job) -> Progress:
        """Read files for a second, at least a few, however long listing them takes. Raises StoreError."""
        if job.user_email is None:
            return Progress(finished=True)
        is_full, skip = bool(job.state.get("full")), int(job.state.get("skip", 0))
        deadline, done, total = time.monotonic() + _STEP_SECONDS, 0, 0
        for number, part in enumerate(self._vaults.of(job.user_email).refresh(is_full=is_full, skip=skip)):
            done, total = part.seen, part.total
            if number > 0 and time.monotonic() >= deadline and done < total:
                # Of a scan that is not full, the next step finds by itself what is left.
                state = {"full": is_full, "skip": done if is_full else 0}
                return Progress(finished=False, done=done, total=total, state=state)
        return Progress(finished=True, done=total, total=total, state=job.state)


def pack_histories(vaults: Vaults) -> None:
    """Pack the repositories of the vaults; in a mapped folder, its owner does that."""
    for vault in vaults.existing():
        if not vault.is_mapped:
            history.pack(vault.root)


def purge_bins(vaults: Vaults, *, older_than_days: float = BIN_DAYS) -> int:
    """Erase the documents that were deleted `older_than_days` ago or earlier; how many."""
    erased, before = 0, now() - timedelta(days=older_than_days)
    for vault in vaults.existing():
        if not vault.read_only:
            try:
                erased += paths.purge_bin(vault.root, before=before)
            except OSError as error:
                log.warning("the bin of a vault can't be purged: %s", error)
    return erased


def _is_hidden(path: str, roots: tuple[str, ...]) -> bool:
    root = next((root for root in roots if path.startswith(root + os.sep)), None)
    return root is None or any(part.startswith(".") for part in Path(path).relative_to(root).parts)


def verify_vaults(vaults: Vaults) -> Iterator[Finding]:
    """What is wrong with the vaults and their index. Reads all documents, changes nothing. Raises StoreError."""
    existing = vaults.existing()
    yield from first_ones(_without_account(vaults))
    indexed = counts(database=vaults.database)
    for vault in existing:
        indexed.pop(vault.user_email, None)
    for user_email, count in sorted(indexed.items()):
        yield Finding(rule="vaults", what=f"The folder of {user_email}'s {count} documents is not there.")
    for vault in existing:
        try:
            vault.require_disk()
        except VaultUnavailableError as error:
            yield Finding(rule="vaults", what=error.message)
            continue
        for lock in history.stale_locks(vault.root):
            yield Finding(rule="vaults", what=f"{lock} was left by a git that has ended; the next write removes it.")
        yield from first_ones(_differences(vault))


def mend_vaults(vaults: Vaults) -> int:
    """Bring the index up to date with the files that differ from it; how many documents changed. Raises StoreError."""
    mended = 0
    for vault in vaults.existing():
        with suppress(VaultUnavailableError):
            vault.require_disk()
            mended += vault.follow(list(differing(vault)))
    return mended


def differing(vault: Vault) -> Iterator[str]:
    """The paths at which the index and the files say different things, also at a second look. Raises StoreError."""
    return (path for path, _ in _differing(vault))


def _differences(vault: Vault) -> Iterator[Finding]:
    for path, what in _differing(vault):
        yield Finding(rule=RULE, what=f"{vault.user_email}: {path} {what}.", derived=True)


def _differing(vault: Vault) -> Iterator[tuple[str, str]]:
    known = known_files(database=vault.database, user_email=vault.user_email)
    versions = {path: file.version for path, file in known.items()}
    there = {path for path, _ in paths.document_files(vault.root)}
    suspects = [path for path in sorted(there | versions.keys()) if _what_differs(vault, path, versions)]
    if not suspects:
        return
    # A server may have been about to index what was just written.
    known = known_files(database=vault.database, user_email=vault.user_email)
    versions = {path: file.version for path, file in known.items()}
    for path in suspects:
        if what := _what_differs(vault, path, versions):
            yield path, what


def _what_differs(vault: Vault, path: str, versions: dict[str, str]) -> str | None:
    try:
        version = vault.read(path).version
    except StoreError:  # also of a file that may no longer be read, which the index leaves out
        return "is in the index, and its file can't be read" if path in versions else None
    if path not in versions:
        return "is not in the index"
    return None if versions[path] == version else "says something else than the index"


def _without_account(vaults: Vaults) -> Iterator[Finding]:
    if not vaults.folder.is_dir():
        return
    accounts = set(user_ids(database=vaults.database).values())
    for name in sorted({entry.name for entry in vaults.folder.iterdir()} - accounts):
        yield Finding(rule="vaults", what=f"{vaults.folder / name} belongs to no account.")
