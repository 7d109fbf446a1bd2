"""Documents that come with a history: they go into the person's vault, and replace nothing there."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import count
from typing import Any, NamedTuple

from database.engine.database import Database
from database.imports.changes import CHANGED_SINCE, Change, brought_before, note_beside, noted_beside
from database.imports.repository import Import
from portability.importers.reading.imported import ImportedDocument
from vault.content.markdown import decoded
from vault.documents import Vault, Vaults
from vault.importing import PackedFile, import_files
from vault.paths import is_document_name

from .taking_back import DOCUMENT, TO_LEARN_FROM


@dataclass(slots=True)
class _Numbered:
    """The documents of one name in a folder, each with another text and a number behind it, as far as they were read.

    names: of their files, by the digests of their texts. last: up to this number they are known.
    """

    names: dict[bytes, str] = field(default_factory=dict)
    last: int = 0


class DocumentStore:
    """Puts documents into the vaults of people. Used by one thread at a time."""

    def __init__(self, vaults: Vaults, *, database: Database) -> None:
        self._vaults = vaults
        self._database = database
        # Of the present import: of many documents of one name, each is read once.
        self._import_id = ""
        self._numbered: dict[tuple[str, str], _Numbered] = {}

    def __call__(self, user_email: str, document: ImportedDocument, *, import_id: str) -> bool:
        """Store a document below its folder; False where it is there already. Raises StoreError.

        One that came with an earlier import stays as the person has changed it since.
        """
        vault, digest = self._vaults.of(user_email), _digest_of(document)
        if import_id != self._import_id:
            self._import_id, self._numbered = import_id, {}
        packed = self._packed(vault, document)
        own: dict[str, Any] = {"database": self._database, "user_email": user_email, "import_id": import_id}
        earlier = brought_before(**own, kind=DOCUMENT, digest=digest) if packed.stands_beside else None
        if earlier is not None:
            if document.to_learn_from:
                note_beside(**own, kind=TO_LEARN_FROM, thing_id=earlier, became={})
            return False
        report = import_files(vault, [packed.file], folder=document.folder)
        for _, refused in report.refused:
            raise refused
        for path in report.imported:
            became = {"version": vault.read(path).version, "digest": digest}
            note_beside(**own, kind=DOCUMENT, thing_id=path, became=became)
        if document.to_learn_from:
            for path in (*report.imported, *report.unchanged):
                note_beside(**own, kind=TO_LEARN_FROM, thing_id=path, became={})
        return bool(report.imported)

    def _packed(self, vault: Vault, document: ImportedDocument) -> _Packed:
        """The document with its name here. Another text of a name gets a number: the earlier one stays beside it."""
        stem, ending = _name_here(document)
        content = document.text.encode("utf-8", "replace")
        text = decoded(content)
        known = self._numbered.setdefault((document.folder, f"{stem}{ending}"), _Numbered())
        same = known.names.get(_digest(text))
        if same is not None and _text_of(vault, document.folder, same) == text:
            return _Packed(PackedFile(same, content), stands_beside=False)
        for number in count(known.last + 1):
            name = f"{stem}{ending}" if number == 1 else f"{stem} {number}{ending}"
            there = _text_of(vault, document.folder, name)
            if there is None:
                break
            known.names[_digest(there)], known.last = name, number
            if there == text:
                return _Packed(PackedFile(name, content), stands_beside=False)
        return _Packed(PackedFile(name, content), stands_beside=number > 1)

    def take_back(self, user_email: str, change: Change) -> str:
        """Move a document that an import brought into the bin of the vault. See `Taker`."""
        if change.kind == TO_LEARN_FROM:
            return ""
        vault = self._vaults.of(user_email)
        document = vault.read_if_there(change.thing_id)
        if document is None:
            return ""
        if document.version != change.became["version"]:
            return CHANGED_SINCE
        vault.delete(change.thing_id, version=document.version)
        return ""


def _digest_of(document: ImportedDocument) -> str:
    return _digest(f"{document.source_id}\n{document.text}").hex()


class _Packed(NamedTuple):
    """A document with its name here. stands_beside: it is new, and its own name has another text."""

    file: PackedFile
    stands_beside: bool


def _text_of(vault: Vault, folder: str, name: str) -> str | None:
    document = vault.read_if_there(f"{folder}/{name}".lstrip("/"))
    return None if document is None else document.text


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


def _name_here(document: ImportedDocument) -> tuple[str, str]:
    """The name of a document's file here, in two parts: up to its ending, and that."""
    stem, dot, ending = document.name.rpartition(".")
    if document.keeps_name and is_document_name(document.name):
        return stem, f"{dot}{ending}"
    stem = stem if document.name.lower().endswith((".md", ".txt")) else document.name
    return " ".join(stem.replace("/", " ").split()) or "Document", ".md"


def documents_to_learn_from(which: Import, *, vaults: Vaults) -> list[str]:
    """The paths of those documents of an import that the person can take memories from, as far as they are there."""
    noted = noted_beside(database=vaults.database, import_id=which.import_id, kinds=[TO_LEARN_FROM])
    if not noted:
        return []
    there = vaults.of(which.user_email).entries([each.thing_id for each in noted])
    return [each.thing_id for each in noted if each.thing_id in there]
