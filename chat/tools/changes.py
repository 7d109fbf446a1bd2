"""Changes of one document that a model or a program wants: what they do to the text, and making them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from database.vault.writes import Action
from sentences import say
from vault import paths
from vault.documents import Document, Vault
from vault.errors import DocumentExistsError, DocumentNotFoundError, VaultReadOnlyError, VersionConflictError
from vault.writing import appended, require_place, require_whole, version_with, with_lines

from .documents import reference_to

LONGEST_DIFF = 200_000
"""In characters; a longer one is cut and says so."""
_MOST_COMPARED = 20_000
"""So many lines, of both texts, are compared one by one; of longer ones all are shown as replaced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChange:
    """A change of the document at `path`.

    text: what is written, appended or put in place of the lines `line_start` to `line_end`, which say `expected`.
    new_path: where it is renamed to. version: of the document that the change was made for; None where there is none.
    result: the version that the document has after it; None for renaming and deleting.
    """

    action: Action
    path: str
    text: str = ""
    new_path: str = ""
    line_start: int = 0
    line_end: int = 0
    expected: str = ""
    version: str | None = None
    result: str | None = None

    @property
    def payload(self) -> dict[str, Any]:
        """The fields that say something, for the store: `DocumentChange(**payload)` is this change."""
        return {name: value for name, value in asdict(self).items() if value not in ("", 0, None)}


def planned(vault: Vault, change: DocumentChange) -> tuple[DocumentChange, str]:
    """The change for the document as it is now, and its diff: "" where it leaves the document as it is.

    Raises VaultReadOnlyError, DocumentNotFoundError, DocumentExistsError, VersionConflictError where the lines to
    replace say something else, and what a path or a text that no document may have raises; so does a document whose
    file is no UTF-8.
    """
    if vault.read_only:
        raise VaultReadOnlyError
    current = vault.read_if_there(change.path)
    version = current.version if current is not None else None
    if change.action == "rename":
        _require_free(vault, _existing(current).path, change.new_path)
        renamed = f"rename from {change.path}\nrename to {change.new_path}\n"
        return replace(change, version=version), renamed
    if change.action == "delete":
        gone = _diff(_existing(current).text, "", path=change.path)
        return replace(change, version=version), gone or f"delete {change.path}\n"
    require_whole(current)
    if current is None:
        require_place(vault, change.path)
    text = _text_after(current, change)
    result = version_with(text)
    before = current.text if current is not None else ""
    diff = _diff(before, text, path=change.path) or ("" if result == version else f"create {change.path}\n")
    return replace(change, version=version, result=result), diff


def make(vault: Vault, change: DocumentChange, *, message_id: str | None, by_model: bool = False) -> dict[str, Any]:
    """Make a planned change; what there is now. A change of the text that is there already is not made again.

    message_id: the answer that proposed it. by_model: it was no proposal that the person accepted. Raises
    VersionConflictError or VersionMissingError where the document is not the one that the change was planned for, and
    what `planned` raises.
    """
    who: dict[str, Any] = {"message_id": message_id, "by_model": by_model}
    if change.action == "delete":
        kept = vault.delete(change.path, version=change.version, **who)
        return {"path": change.path, "kept_at": kept}
    if change.action == "rename":
        renamed = vault.rename(change.path, change.new_path, **who)
        return {**_named(change.new_path), "followed": renamed.followed}
    current = vault.read_if_there(change.path)
    if current is None or current.version != change.result:
        if change.version is not None and (current is None or current.version != change.version):
            raise VersionConflictError(current)
        text = _text_after(current, change)
        vault.write(change.path, text, version=change.version, action=change.action, **who)
    return _named(change.path)


def _text_after(current: Document | None, change: DocumentChange) -> str:
    if change.action == "write":
        return change.text
    document = _existing(current)
    if change.action == "append":
        return appended(document, change.text)
    place = {"line_start": change.line_start, "line_end": change.line_end}
    return with_lines(document, change.text, **place, expected=change.expected)


def _existing(document: Document | None) -> Document:
    if document is None:
        raise DocumentNotFoundError
    return document


def _require_free(vault: Vault, path: str, new_path: str) -> None:
    """Raises DocumentExistsError where another document has the new path, and PathRefusedError."""
    new = paths.file_of(vault.root, new_path)
    require_place(vault, new_path)
    if path == new_path or (new.exists() and not new.samefile(paths.file_of(vault.root, path))):
        raise DocumentExistsError(say("document_path_taken"))


def _named(path: str) -> dict[str, Any]:
    return {"path": path, "reference": reference_to(path)}


def _diff(before: str, after: str, *, path: str) -> str:
    """A unified diff; "" for the same text."""
    old, new = before.splitlines(), after.splitlines()
    if len(old) + len(new) <= _MOST_COMPARED:
        lines: Sequence[str] = list(difflib.unified_diff(old, new, path, path, lineterm=""))
    else:
        head = [f"--- {path}", f"+++ {path}", f"@@ -1,{len(old)} +1,{len(new)} @@"]
        lines = [*head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)] if old != new else []
    diff = "".join(f"{line}\n" for line in lines)
    return diff if len(diff) <= LONGEST_DIFF else f"{diff[:LONGEST_DIFF]}\n… (cut: the change is longer)\n"
