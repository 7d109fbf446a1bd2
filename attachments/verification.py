"""Comparing the files of messages with their rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from database.accounts.users import user_ids
from database.history.attachments import Attachment
from database.maintenance.findings import Finding, first_ones

from .storage import INCOMING, Attachments, sha256_of

RULE = "files of messages"


def verify_attachments(files: Attachments) -> Iterator[Finding]:
    """What is wrong with the files of people. Reads all files, changes nothing. Raises StoreError."""
    accounts = user_ids(database=files.database)
    for folder in _folders(files.folder):
        if folder.name not in {*accounts.values(), INCOMING}:
            yield Finding(rule=RULE, what=f"{folder} belongs to no account.")
    for user_email, user_id in sorted(accounts.items()):
        yield from first_ones(_differences(files, user_email, files.folder / user_id))


def _differences(files: Attachments, user_email: str, folder: Path) -> Iterator[Finding]:
    there = {place.name for place in _folders(folder)}
    stored = _by_content(files, user_email)
    suspects = {sha256: what for sha256, each in stored.items() if (what := _problem(files.original(each), sha256))}
    # A server may have stored or erased a file in between.
    now = _by_content(files, user_email)
    for sha256, what in suspects.items():
        if sha256 in now:
            yield Finding(rule=RULE, what=f"{user_email}: the file {now[sha256].name!r} ({sha256}) {what}.")
    for sha256 in sorted(there - stored.keys() - now.keys()):
        if (folder / sha256).is_dir():
            yield Finding(rule=RULE, what=f"{folder / sha256} is a file that no row names.")


def _by_content(files: Attachments, user_email: str) -> dict[str, Attachment]:
    return {attachment.sha256: attachment for attachment in files.list_of(user_email)}


def _problem(original: Path, sha256: str) -> str | None:
    try:
        return None if sha256_of(original) == sha256 else "has another content than was stored"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"can't be read: {error.strerror}"


def _folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
