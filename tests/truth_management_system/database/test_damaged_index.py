"""A full-text index of memories that is damaged is made anew by whoever meets it; nothing is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from truth_management_system import PKBConfig, PKBDatabase, StructuredAPI, get_database
from truth_management_system.errors import KnowledgeUnavailableError
from truth_management_system.interface.structured_api import merge_search_indexes, verify_knowledge

ANN = "ann@example.org"
DAMAGES = (
    "UPDATE {index}_data SET block = x'00ff00ff' WHERE id > 10",
    "DELETE FROM {index}_data WHERE id > 10",
    "DELETE FROM {index}_data WHERE id = 10",
    "UPDATE {index}_data SET block = x'ffffffffffffff' WHERE id = 10",
    "DELETE FROM {index}_data",
)
damages = pytest.mark.parametrize("damage", DAMAGES)


@pytest.fixture(params=["open", "opened again"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PKBDatabase]:
    """A knowledge base in a file, with twenty claims and a note, whose connections have read it already or have not."""
    with get_database(PKBConfig(db_path=tmp_path / "pkb.sqlite")) as database:
        ann = memories(database)
        for number in range(20):
            ann.add_claim(f"The whale number{number} sings", "fact", "work", auto_extract=False)
        ann.add_note("A whale is no fish.", title="Fish")
        assert found(database, "whale") == 20
        if request.param == "opened again":
            database.close()
            database.connect()
        yield database


def memories(database: PKBDatabase) -> StructuredAPI:
    return StructuredAPI(database, {}, database.config, ANN)


def spoil(database: PKBDatabase, damage: str, *, index: str = "claims_fts") -> None:
    with closing(sqlite3.connect(database.config.path)) as other, other:
        other.execute(damage.format(index=index))


def found(database: PKBDatabase, query: str) -> int:
    answer = memories(database).search(query, k=50, strategy="fts")
    assert answer.success, answer.errors
    return len(answer.data)


def assert_sound(database: PKBDatabase) -> None:
    assert database.failures == 0
    assert [each for each in verify_knowledge(database.config.path) if not each.fine] == []


@damages
def test_a_search_that_meets_a_damaged_index_finds_all_the_same(
    db: PKBDatabase, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    spoil(db, damage)
    assert found(db, "whale") == 20
    assert "A full-text index is damaged. claims_fts is made anew." in caplog.text
    assert_sound(db)


@damages
def test_memories_are_completed_by_their_words_all_the_same(db: PKBDatabase, damage: str) -> None:
    spoil(db, damage)
    assert len(memories(db).autocomplete("sing", limit=5).data["memories"]) == 5
    assert_sound(db)


@damages
def test_memories_are_added_changed_and_deleted_all_the_same(db: PKBDatabase, damage: str) -> None:
    ann = memories(db)
    first, second = (row[0] for row in db.select("SELECT claim_id FROM claims ORDER BY claim_rowid LIMIT 2"))
    spoil(db, damage)
    added = ann.add_claim("One more whale", "fact", "work", auto_extract=False)
    assert added.success, added.errors
    spoil(db, damage)
    edited = ann.edit_claim(first, statement="A dolphin sings")
    assert edited.success, edited.errors
    spoil(db, damage)
    deleted = ann.delete_claim(second)
    assert deleted.success, deleted.errors
    # The changed one is still called by its first words.
    assert (found(db, "whale"), found(db, "dolphin")) == (20, 1)
    assert_sound(db)


@damages
def test_indexes_are_merged_and_notes_found_all_the_same(db: PKBDatabase, damage: str) -> None:
    spoil(db, damage)
    with pytest.raises(KnowledgeUnavailableError, match="Try again"):
        merge_search_indexes(db)
    assert db.is_mended()
    merge_search_indexes(db)
    spoil(db, damage, index="notes_fts")
    assert len(memories(db).search_notes("fish").data) == 1
    assert found(db, "whale") == 20
    assert_sound(db)
