"""Importing the archive of an account, as `portability.account_archive` writes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from database.imports.workspaces import Folder
from database.workspaces.repository import DEFAULT_PREFIX, DEFAULT_WORKSPACE_COLOR, WORKSPACE_COLOR, is_domain
from portability.account_archive import (
    ACTIVITIES,
    CONVERSATIONS,
    DOCUMENTS,
    FORMAT,
    KNOWN_SCHEMAS,
    MANIFEST,
    MEMORIES,
    SETTINGS,
)
from portability.errors import BrokenImportError
from portability.importers.reading.import_file import ImportFile, members_of_files
from portability.importers.reading.imported import (
    FailedItem,
    ImportedDocument,
    ImportedExport,
    ImportedItem,
    ImportedPart,
    form_of,
)
from portability.importers.reading.json_stream import MOST_VALUES, parsed_json
from sentences import say
from vault.content.markdown import is_utf8

from .anaphora import title_of

_LARGEST = 256 * 2**20
_LARGEST_DOCUMENT = 2 * 2**20
MOST_WORKSPACES, MOST_LEVELS = 10_000, 50
"""More workspaces are refused; what lies deeper than so many levels comes in at the last of them."""
_MOST_VALUES = 2 * MOST_VALUES
"""Of all memories: 100,000 of them are three million values."""


def _checked_domain(domain: str) -> str:
    """`domain`. Raises ValueError where it can't be the name of one."""
    if not is_domain(domain):
        raise ValueError("not the name of a domain")
    return domain


class ArchivedWorkspace(BaseModel):
    """A workspace as the settings of an archive list it."""

    model_config = ConfigDict(extra="ignore", strict=True)
    workspace_id: str
    workspace_name: Annotated[str, Field(min_length=1, max_length=200)]
    workspace_color: Annotated[str, Field(pattern=WORKSPACE_COLOR)] = DEFAULT_WORKSPACE_COLOR
    domain: Annotated[str, AfterValidator(_checked_domain)]
    parent_workspace_id: str | None = None


def folders_of(workspaces: Sequence[ArchivedWorkspace]) -> dict[str, tuple[Folder, ...]]:
    """The folders from the top down to each workspace, by its id; none for default workspaces.

    Circles are cut. What lies deeper than `MOST_LEVELS` belongs into the folder at that level.
    """
    known = {each.workspace_id: each for each in workspaces}
    paths: dict[str, tuple[Folder, ...]] = {name: () for name in known if name.startswith(DEFAULT_PREFIX)}
    for each in workspaces:
        for below in reversed(_without_path(each, known, paths)):
            above = paths.get(below.parent_workspace_id or "", ())
            folder = Folder(below.workspace_name, below.workspace_color)
            paths[below.workspace_id] = (*above, folder) if len(above) < MOST_LEVELS else above
    return paths


def _without_path(
    workspace: ArchivedWorkspace, known: Mapping[str, ArchivedWorkspace], paths: Mapping[str, object]
) -> list[ArchivedWorkspace]:
    """The workspace and those above it whose paths are not known yet, from it upwards."""
    found = dict[str, ArchivedWorkspace]()
    above: ArchivedWorkspace | None = workspace
    while above is not None and above.workspace_id not in paths and above.workspace_id not in found:
        found[above.workspace_id] = above
        above = known.get(above.parent_workspace_id or "")
    return list(found.values())


ArchivedWorkspaces = Annotated[list[ArchivedWorkspace], Field(max_length=MOST_WORKSPACES)]
_WORKSPACES: TypeAdapter[list[ArchivedWorkspace]] = TypeAdapter(ArchivedWorkspaces)


class AccountArchiveImporter:
    """Reads the ZIP with everything of an account: conversations, documents, memories, settings."""

    source = "account"
    title, expects = form_of("account")

    def recognises(self, file: ImportFile) -> bool:
        """See `Importer`."""
        return MANIFEST in file.members and FORMAT.encode() in file.beginning(MANIFEST, length=200)

    def conversations(self, file: ImportFile) -> Iterator[ImportedItem]:
        """See `Importer`. Settings come first: they have the agents of conversations. Pinned memories come last."""
        manifest = _object(file, MANIFEST)
        if type(manifest.get("schema")) is not int or manifest["schema"] not in KNOWN_SCHEMAS:
            schema = repr(manifest.get("schema"))
            raise BrokenImportError(
                say("import_archive_schema", schema=schema, known=", ".join(map(str, KNOWN_SCHEMAS)))
            )
        beside = _Beside(members_of_files(file.members), _folders(file))
        if SETTINGS in file.members:
            yield _part(file, SETTINGS)
        for name in file.members:
            try:
                item = _item(file, name, beside)
            except BrokenImportError as error:
                item = FailedItem(name, error.message)
            if item is not None:
                yield item
        if MEMORIES in file.members:
            yield _part(file, MEMORIES)


@dataclass(frozen=True, slots=True)
class _Beside:
    """What lies beside the conversations. See `ImportedExport`."""

    members: Mapping[str, str]
    folders: Mapping[str, tuple[Folder, ...]]


def _folders(file: ImportFile) -> dict[str, tuple[Folder, ...]]:
    """The folders of the workspaces; none where the settings can't be read, which is reported when they are stored."""
    try:
        listed = _object(file, SETTINGS).get("workspaces", []) if SETTINGS in file.members else []
        return folders_of(_WORKSPACES.validate_python(listed))
    except (BrokenImportError, ValidationError):
        return {}


def _item(file: ImportFile, name: str, beside: _Beside) -> ImportedItem | None:
    """A conversation, what happened beside them, or a document; None for every other file."""
    if name.startswith((CONVERSATIONS, ACTIVITIES)) and name.endswith(".json"):
        content = file.read(name, most=_LARGEST)
        messages = content.count(b'"message_short_hash"')
        title = title_of(content)
        return ImportedExport(name, content, messages, title=title, members=beside.members, folders=beside.folders)
    if not name.startswith(DOCUMENTS):
        return None
    path = PurePosixPath(name.removeprefix(DOCUMENTS))
    content = file.read(name, most=_LARGEST_DOCUMENT)
    if not is_utf8(content):
        return FailedItem(name, say("import_document_no_text"))
    folder = "" if str(path.parent) == "." else str(path.parent)
    return ImportedDocument(str(path), folder, path.name, content.decode(), keeps_name=True)


def _part(file: ImportFile, name: str) -> ImportedItem:
    try:
        return ImportedPart(name, _object(file, name))
    except BrokenImportError as error:
        return FailedItem(name, error.message)


def _object(file: ImportFile, name: str) -> dict[str, Any]:
    content = parsed_json(
        file.read(name, most=_LARGEST), no_json=say("import_no_json", name=name), most_values=_MOST_VALUES
    )
    if not isinstance(content, dict):
        raise BrokenImportError(say("import_no_object", name=name))
    return content
