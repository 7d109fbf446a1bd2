"""A `pkb.sqlite` of the first implementation: read alone, merged with its ids, numbers and readable ids."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.truth_management_system.crud.conftest import ANN, BEN
from truth_management_system.database import PKBDatabase, get_memory_database
from truth_management_system.errors import InvalidKnowledgeError
from truth_management_system.portability import export_data, import_data
from truth_management_system.portability.first_implementation import read_first_knowledge_base

pytestmark = pytest.mark.contract

NOW = "2024-03-01T08:00:00Z"
SCHEMA = """
CREATE TABLE claims (claim_id TEXT PRIMARY KEY, user_email TEXT, claim_number INTEGER, friendly_id TEXT,
    claim_type TEXT NOT NULL, claim_types TEXT, statement TEXT NOT NULL, context_domain TEXT NOT NULL,
    context_domains TEXT, status TEXT NOT NULL DEFAULT 'active', confidence REAL, created_at TEXT, updated_at TEXT,
    valid_from TEXT, valid_to TEXT, meta_json TEXT, retracted_at TEXT, possible_questions TEXT,
    last_reinforced_at TEXT, reinforcement_count INTEGER NOT NULL DEFAULT 0);
CREATE TABLE notes (note_id TEXT PRIMARY KEY, user_email TEXT, title TEXT, body TEXT, context_domain TEXT,
    meta_json TEXT, created_at TEXT, updated_at TEXT);
CREATE TABLE entities (entity_id TEXT PRIMARY KEY, user_email TEXT, friendly_id TEXT, entity_type TEXT, name TEXT,
    meta_json TEXT, created_at TEXT, updated_at TEXT);
CREATE TABLE tags (tag_id TEXT PRIMARY KEY, user_email TEXT, friendly_id TEXT, name TEXT, parent_tag_id TEXT,
    meta_json TEXT, created_at TEXT, updated_at TEXT);
CREATE TABLE claim_tags (claim_id TEXT, tag_id TEXT);
CREATE TABLE claim_entities (claim_id TEXT, entity_id TEXT, role TEXT);
CREATE TABLE contexts (context_id TEXT PRIMARY KEY, user_email TEXT, friendly_id TEXT, name TEXT, description TEXT,
    parent_context_id TEXT, meta_json TEXT, created_at TEXT, updated_at TEXT);
CREATE TABLE context_claims (context_id TEXT, claim_id TEXT);
CREATE TABLE claim_embeddings (claim_id TEXT PRIMARY KEY, embedding BLOB, model_name TEXT, created_at TEXT);
CREATE TABLE claim_types_catalog (type_name TEXT, user_email TEXT, display_name TEXT, description TEXT,
    created_at TEXT);
"""


@pytest.fixture
def elsewhere() -> Iterator[PKBDatabase]:
    with get_memory_database() as database:
        yield database


@pytest.fixture
def old(tmp_path: Path) -> Callable[..., Path]:
    """Write rows by table into a file of the first implementation."""

    def write(schema: str = SCHEMA, **tables: list[dict[str, Any]]) -> Path:
        path = tmp_path / "pkb.sqlite"
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript(schema)
            for table, rows in tables.items():
                for row in rows:
                    columns, places = ", ".join(row), ", ".join("?" * len(row))
                    connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({places})", [*row.values()])
            connection.commit()
        return path

    return write


def old_claim(number: int, *, user: str | None = ANN, **fields: Any) -> dict[str, Any]:
    return {
        "claim_id": f"00000000-0000-4000-8000-00000000000{number}",
        "user_email": user,
        "claim_number": number,
        "friendly_id": f"i_sail_0{number}",
        "claim_type": "preference",
        "claim_types": '["preference", "fact"]',
        "statement": f"I sail {number}",
        "context_domain": "health",
        "status": "active",
        "created_at": NOW,
        "updated_at": NOW,
        "valid_from": "1970-01-01T00:00:00Z",
        "meta_json": '{"source": "chat_distillation"}',
        "possible_questions": '["Do you sail?"]',
        **fields,
    }


def timed(**row: Any) -> dict[str, Any]:
    return {"user_email": ANN, **row, "created_at": NOW, "updated_at": NOW}


def test_ids_numbers_and_readable_ids_come_along_and_nothing_of_others(
    old: Callable[..., Path], elsewhere: PKBDatabase
) -> None:
    claims = [old_claim(7), old_claim(9, status="retracted", retracted_at=NOW), old_claim(8, user=BEN)]
    path = old(
        claims=claims,
        tags=[timed(tag_id="t1", friendly_id="sport_tag", name="sport")],
        entities=[timed(entity_id="e1", friendly_id="kiel_place_entity", entity_type="place", name="Kiel")],
        contexts=[timed(context_id="c1", friendly_id="sea_context", name="Sea")],
        notes=[timed(note_id="n1", title="Log", body="Calm")],
        claim_tags=[
            {"claim_id": claims[0]["claim_id"], "tag_id": "t1"},
            {"claim_id": claims[2]["claim_id"], "tag_id": "t1"},
        ],
        claim_entities=[{"claim_id": claims[0]["claim_id"], "entity_id": "e1", "role": "mentioned"}],
        context_claims=[{"context_id": "c1", "claim_id": claims[0]["claim_id"]}],
        claim_types_catalog=[{"type_name": "quote", "user_email": ANN, "display_name": "Quotes"}],
    )
    before = path.read_bytes()
    payload, dropped = read_first_knowledge_base(path, ANN)
    told = import_data(elsewhere, ANN, payload)

    assert dropped == 0
    assert {table: count for table, count in told["counts"].items() if count} == {
        "claims": 2,
        "notes": 1,
        "entities": 1,
        "tags": 1,
        "contexts": 1,
        "claim_tags": 1,
        "claim_entities": 1,
        "context_claims": 1,
        "catalogs": 1,
    }
    stored = export_data(elsewhere, ANN)["data"]
    assert [
        (each["claim_id"], each["claim_number"], each["friendly_id"], each["status"]) for each in stored["claims"]
    ] == [
        (claims[0]["claim_id"], 7, "i_sail_07", "active"),
        (claims[1]["claim_id"], 9, "i_sail_09", "retracted"),
    ]
    assert stored["tags"][0]["friendly_id"] == "sport_tag"
    assert stored["contexts"][0]["friendly_id"] == "sea_context"
    assert not any(import_data(elsewhere, ANN, payload)["counts"].values())
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == ["pkb.sqlite"]


def test_the_file_of_one_person_is_that_of_whoever_brings_it(old: Callable[..., Path]) -> None:
    path = old(claims=[old_claim(1, user="me@old.example"), old_claim(2, user=None)])
    payload, _ = read_first_knowledge_base(path, ANN)
    assert len(payload["data"]["claims"]) == 2


def test_of_a_file_of_several_others_nothing_is_read(old: Callable[..., Path]) -> None:
    path = old(claims=[old_claim(1, user="me@old.example"), old_claim(2, user=BEN)])
    payload, _ = read_first_knowledge_base(path, ANN)
    assert payload["data"]["claims"] == []


def test_rows_that_make_no_sense_are_left_out_and_counted(old: Callable[..., Path], elsewhere: PKBDatabase) -> None:
    path = old(
        claims=[old_claim(1), old_claim(2, status="?"), old_claim(3, statement=""), old_claim(4, created_at="soon")]
    )
    payload, dropped = read_first_knowledge_base(path, ANN)

    assert dropped == 3
    assert import_data(elsewhere, ANN, payload)["counts"]["claims"] == 1


def test_its_first_version_had_fewer_columns_and_tables(old: Callable[..., Path], elsewhere: PKBDatabase) -> None:
    schema = """CREATE TABLE claims (claim_id TEXT PRIMARY KEY, claim_type TEXT, statement TEXT, context_domain TEXT,
        status TEXT, created_at TEXT, updated_at TEXT)"""
    names = ("claim_id", "claim_type", "statement", "context_domain", "status", "created_at", "updated_at")
    path = old(schema, claims=[{name: old_claim(1)[name] for name in names}])
    payload, dropped = read_first_knowledge_base(path, ANN)

    assert (dropped, import_data(elsewhere, ANN, payload)["counts"]["claims"]) == (0, 1)


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0" + bytes(200)])
def test_another_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "pkb.sqlite"
    path.write_bytes(content)
    with pytest.raises(InvalidKnowledgeError, match="first implementation"):
        read_first_knowledge_base(path, ANN)


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE TABLE claims (x, statement TEXT AS (hex(zeroblob(9000000)))); INSERT INTO claims (x) VALUES (1);",
        "CREATE VIEW claims AS WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n;",
        "CREATE VIRTUAL TABLE claims USING fts5(statement);",
    ],
)
def test_a_file_whose_schema_computes_is_refused(tmp_path: Path, schema: str) -> None:
    path = tmp_path / "pkb.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(schema)
    with pytest.raises(InvalidKnowledgeError):
        read_first_knowledge_base(path, ANN)
