"""Documents of a history in the vault: of one name, each text has a file of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from database.accounts.users import create_user
from database.engine.database import Database
from database.imports.repository import Import
from portability.importers.reading.imported import ImportedDocument
from portability.imports.documents import DocumentStore
from vault.documents import Document, Vault, Vaults

from .conftest import ADA, conversation

Imported = Callable[..., Import]


@pytest.fixture
def vaults(database: Database) -> Vaults:
    create_user(database=database, user_email=ADA, password="correct horse battery")
    return Vaults(database=database, embedding=lambda: None)


def note(number: int) -> ImportedDocument:
    return ImportedDocument(f"d{number}", "Boat", "Notes.md", f"Note {number}")


def test_of_many_documents_of_one_name_each_is_read_once_while_they_come(
    database: Database, vaults: Vaults, imported: Imported, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_id = imported(conversation("c")).import_id
    store, read, reads = DocumentStore(vaults, database=database), Vault.read_if_there, Counter[str]()

    def counted(self: Vault, path: str) -> Document | None:
        reads[path] += 1
        return read(self, path)

    monkeypatch.setattr(Vault, "read_if_there", counted)
    for number in range(1, 13):
        assert store(ADA, note(number), import_id=import_id)
    # As a place that is free, as it is written, and for what lies there since.
    assert max(reads.values()) == 3
    texts = {each.path: vaults.of(ADA).read(each.path).text for each in vaults.of(ADA).all_documents()}
    assert texts == {
        "Boat/Notes.md": "Note 1",
        **{f"Boat/Notes {number}.md": f"Note {number}" for number in range(2, 13)},
    }
    reads.clear()
    # What is there already stays alone, also for another store, which has read nothing yet.
    assert not store(ADA, note(7), import_id=import_id)
    assert max(reads.values()) <= 3
    assert not DocumentStore(vaults, database=database)(ADA, note(7), import_id=import_id)
    assert len(list(vaults.of(ADA).all_documents())) == 12


def test_a_document_that_is_changed_or_deleted_while_others_come_is_known_anew(
    database: Database, vaults: Vaults, imported: Imported
) -> None:
    import_id = imported(conversation("c")).import_id
    store, vault = DocumentStore(vaults, database=database), vaults.of(ADA)
    for number in (1, 2, 3):
        store(ADA, note(number), import_id=import_id)
    vault.write("Boat/Notes 2.md", "Mine", version=vault.read("Boat/Notes 2.md").version)
    vault.delete("Boat/Notes.md")
    for number in (1, 2):
        assert store(ADA, note(number), import_id=import_id)
    texts = sorted(vault.read(each.path).text for each in vault.all_documents())
    assert texts == ["Mine", "Note 1", "Note 2", "Note 3"]
