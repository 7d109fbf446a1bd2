"""The store reads past SQLAlchemy, and says what went wrong in words of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from database.engine import pool
from database.engine.sqlite import SQLiteFile
from truth_management_system import PKBConfig, PKBDatabase, get_database, get_memory_database
from truth_management_system.errors import InvalidKnowledgeError, KnowledgeUnavailableError

NAMES = "SELECT type_name AS name, display_name FROM claim_types_catalog ORDER BY type_name"


@pytest.fixture(params=["file", "memory"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PKBDatabase]:
    in_file = request.param == "file"
    with get_database(PKBConfig(db_path=tmp_path / "pkb.sqlite")) if in_file else get_memory_database() as database:
        yield database


def add(db: PKBDatabase, name: str) -> None:
    db.execute("INSERT INTO claim_types_catalog VALUES ('', ?, ?, '2026-01-01')", [name, name.title()])


def test_rows_come_as_tuples_or_by_the_names_of_their_columns(db: PKBDatabase) -> None:
    add(db, "dish")
    add(db, "recipe")
    assert list(map(tuple, db.select(NAMES))) == [("dish", "Dish"), ("recipe", "Recipe")]
    assert [dict(row) for row in db.fetchall(NAMES)] == [
        {"name": "dish", "display_name": "Dish"},
        {"name": "recipe", "display_name": "Recipe"},
    ]
    first = db.fetchone(NAMES)
    assert first is not None
    assert first["name"] == "dish"
    assert db.fetchone(f"{NAMES} LIMIT 0") is None


def test_what_a_transaction_has_written_is_read_within_it_alone(tmp_path: Path) -> None:
    path = tmp_path / "pkb.sqlite"
    with get_database(PKBConfig(db_path=path)) as db, get_database(PKBConfig(db_path=path)) as other:
        with db.transaction():
            add(db, "dish")
            assert len(db.select(NAMES)) == 1
            assert other.select(NAMES) == []
        assert len(other.select(NAMES)) == 1


def test_a_snapshot_sees_one_state(tmp_path: Path) -> None:
    path = tmp_path / "pkb.sqlite"
    with get_database(PKBConfig(db_path=path)) as db, get_database(PKBConfig(db_path=path)) as other:
        with db.snapshot():
            assert db.select(NAMES) == []
            add(other, "dish")
            assert db.select(NAMES) == []
        assert len(db.select(NAMES)) == 1


@pytest.mark.parametrize("value", [["a", "list"], "half \ud800 a character", 2**70])
def test_a_value_that_no_column_can_hold_is_refused(db: PKBDatabase, value: Any) -> None:
    with pytest.raises(InvalidKnowledgeError):
        db.select("SELECT ?", [value])
    with pytest.raises(InvalidKnowledgeError):
        db.execute("SELECT ?", [value])
    assert db.select("SELECT 1")[0][0] == 1


def test_a_query_that_fails_counts_and_leaves_the_store_usable(db: PKBDatabase) -> None:
    with pytest.raises(KnowledgeUnavailableError):
        db.select("SELECT nothing FROM nowhere")
    assert db.failures == 1
    assert db.select("SELECT 1")[0][0] == 1


def test_who_waits_too_long_for_a_connection_is_told_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(SQLiteFile, "readers", 1)
    with get_database(PKBConfig(db_path=tmp_path / "pkb.sqlite")) as db:
        assert db._store is not None
        with db._store.reading(), pytest.raises(KnowledgeUnavailableError, match="too much at once"):
            db.select("SELECT 1")
        assert db.select("SELECT 1")[0][0] == 1


def test_a_closed_store_says_so(db: PKBDatabase) -> None:
    db.close()
    with pytest.raises(KnowledgeUnavailableError, match="closed"):
        db.select("SELECT 1")
    with pytest.raises(KnowledgeUnavailableError, match="closed"):
        add(db, "dish")


def test_the_folder_that_it_makes_is_the_owner_s_alone(tmp_path: Path) -> None:
    with get_database(PKBConfig(db_path=tmp_path / "new" / "pkb.sqlite")):
        assert (tmp_path / "new").stat().st_mode & 0o077 == 0
