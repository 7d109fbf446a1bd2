"""Memories of an SQLite file are copied into PostgreSQL: whole, compared with their source, and once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.postgresql import PostgreSQLServer
from tests.truth_management_system.conftest import stored_knowledge_base
from tests.truth_management_system.crud.conftest import ANN, BEN, Person
from truth_management_system.database import PKBDatabase
from truth_management_system.errors import KnowledgeCopyError, MemoriesPresentError
from truth_management_system.portability import copying, export_data
from truth_management_system.portability.copying import copy_memories, people_with_memories
from truth_management_system.search.fts_search import FTSSearchStrategy


@pytest.fixture
def target(postgresql_server: PostgreSQLServer, tmp_path: Path) -> Iterator[PKBDatabase]:
    """An empty knowledge base on PostgreSQL."""
    url = postgresql_server.empty_store()
    with stored_knowledge_base(url, tmp_path / "elsewhere") as database:
        yield database
    postgresql_server.take_back(url)


def rows_of(database: PKBDatabase, email: str) -> dict[str, list[str]]:
    exported = export_data(database, email)["data"]
    return {table: sorted(json.dumps(row, sort_keys=True) for row in rows) for table, rows in exported.items()}


def test_everything_of_a_person_is_copied_as_it_is_and_nothing_of_others(
    filled: Person, ben: Person, target: PKBDatabase
) -> None:
    ben.claim("Ben's own")
    filled.claim("Brot braucht Ruhe 🌧")
    assert people_with_memories(filled.db) == [ANN, BEN]
    assert copy_memories(filled.db, target, user_email=ANN) == (6, True)
    assert rows_of(target, ANN) == rows_of(filled.db, ANN)
    assert people_with_memories(target) == [ANN]
    found = FTSSearchStrategy(target, ANN).search("ruhe")
    assert [result.claim.statement for result in found] == ["Brot braucht Ruhe 🌧"]


def test_copying_again_changes_nothing_and_new_claims_get_new_numbers(filled: Person, target: PKBDatabase) -> None:
    copying.set_last_number(filled.db, ANN, 70)
    assert copy_memories(filled.db, target, user_email=ANN) == (5, True)
    before = rows_of(target, ANN)
    assert copy_memories(filled.db, target, user_email=ANN) == (5, False)
    assert rows_of(target, ANN) == before
    assert Person(target, ANN).claim("I am new here").claim_number == 71


def test_other_memories_of_the_person_are_never_touched(filled: Person, target: PKBDatabase) -> None:
    Person(target, ANN).claim("I drink coffee")
    before = rows_of(target, ANN)
    with pytest.raises(MemoriesPresentError, match="has other memories there"):
        copy_memories(filled.db, target, user_email=ANN)
    assert rows_of(target, ANN) == before


def test_a_copy_that_differs_from_its_source_is_rolled_back(
    filled: Person, target: PKBDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_all = copying.import_data

    def losing(database: PKBDatabase, email: str, payload: Any) -> None:
        import_all(database, email, {**payload, "data": {**payload["data"], "claim_links": []}})

    monkeypatch.setattr(copying, "import_data", losing)
    with pytest.raises(KnowledgeCopyError, match="differs from its source in claim_links"):
        copy_memories(filled.db, target, user_email=ANN)
    assert people_with_memories(target) == []
