"""The files that messages of an export of ours use, and their parts, which name what is kept of these here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from database.engine.database import Database
from database.history.attachments import Attachment, attachments_by_id
from database.imports.importing import ImportedActivity
from database.messages.parts import is_file


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of an exported message. sha256: of its content, "" where the export does not say it."""

    name: str
    sha256: str


KeepFiles = Callable[[Mapping[str, ExportedFile]], Mapping[str, Attachment]]
"""Keeps files of an export, given by their ids there; those that are the person's then, by the same ids."""


def own_files(database: Database, user_email: str) -> KeepFiles:
    """Keeps those that are the person's already."""

    def keep(files: Mapping[str, ExportedFile]) -> dict[str, Attachment]:
        return attachments_by_id(database=database, user_email=user_email, attachment_ids=list(files))

    return keep


def files_of(parts: Iterable[Mapping[str, Any]]) -> dict[str, ExportedFile]:
    """The files that parts of messages use, by their ids there."""
    found: dict[str, ExportedFile] = {}
    for part in parts:
        if is_file(part) and isinstance(file_id := part.get("attachment_id"), str):
            found.setdefault(file_id, ExportedFile(str(part.get("name") or ""), str(part.get("sha256") or "")))
    return found


def with_files(activity: ImportedActivity, kept: Mapping[str, Attachment]) -> ImportedActivity:
    """The activity, its parts naming the files that are kept here; of others only their names stay."""
    if activity.message is None:
        return activity
    said = dict(activity.message)
    said["versions"] = [{**each, "parts": _parts_with_files(each.get("parts", ()), kept)} for each in said["versions"]]
    said["parts"] = _parts_with_files(said.get("parts", ()), kept)
    return replace(activity, message=said)


def _parts_with_files(parts: Iterable[Mapping[str, Any]], kept: Mapping[str, Attachment]) -> list[dict[str, Any]]:
    made = []
    for part in parts:
        named = {name: value for name, value in part.items() if name not in {"attachment_id", "sha256"}}
        own = kept.get(str(part.get("attachment_id"))) if is_file(part) else None
        made.append(dict(part) if not is_file(part) else named if own is None else own.part(part["id"], at=part["at"]))
    return made
