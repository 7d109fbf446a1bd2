"""Comparing the index of documents with their files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from database.accounts.users import user_ids
from database.engine.errors import StoreError
from database.maintenance.findings import Finding, first_ones
from database.vault.documents import counts, known_files

from . import history, paths
from .documents import Vault, Vaults
from .errors import VaultUnavailableError

RULE = "index of documents"


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
