"""Whatever is damaged in a knowledge base is found; what follows from the claims is made anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from database.connection import create_connection
from truth_management_system import PKBConfig, PKBDatabase, StructuredAPI, get_database
from truth_management_system.interface.structured_api import reindex_knowledge, repair_knowledge, verify_knowledge
from truth_management_system.schema.sqlite import prepare

# Plain damage: (what is broken, by which statements, whether it can be made anew).
DAMAGES = [
    ("claim numbers", ["UPDATE claim_numbers SET last_number = 1"], True),
    ("claim numbers", ["DELETE FROM claim_numbers"], True),
    (
        "claim numbers",
        ["DROP INDEX idx_claims_user_claim_number", "UPDATE claims SET claim_number = 1"],
        False,
    ),
    ("domains of claims", ["DELETE FROM claim_domains WHERE claim_rowid = 1"], True),
    ("domains of claims", ["INSERT INTO claim_domains VALUES (1, 'ann@example.org', 'finance')"], True),
    ("index of claims", ["INSERT INTO claims_fts(claims_fts) VALUES ('delete-all')"], True),
    ("index of claims", ["INSERT INTO claims_fts(rowid, statement) VALUES (1, 'extra')"], True),
    ("index of claims", ["DELETE FROM claims_fts_data WHERE id > 10"], True),
    (
        "index of claims",
        ["DROP TRIGGER claims_fts_update", "UPDATE claims SET statement = 'Other words' WHERE claim_rowid = 1"],
        True,
    ),
    ("index of notes", ["INSERT INTO notes_fts(notes_fts) VALUES ('delete-all')"], True),
    ("vectors", ["UPDATE claim_embeddings SET user_email = 'eve@example.org'"], True),
    ("vectors", ["UPDATE claim_embeddings SET vector = x'010203'"], True),
    ("aliases", ["INSERT INTO aliases VALUES ('ann@example.org', 'x', 'tag', 'nothing')"], True),
    ("aliases", ["INSERT INTO aliases SELECT 'eve@example.org', 'x', 'claim', claim_id FROM claims"], True),
    ("friendly ids", ["UPDATE claims SET friendly_id = 'no id' WHERE claim_rowid = 1"], False),
    ("friendly ids", ["UPDATE tags SET friendly_id = 'claim_7'"], False),
    ("friendly ids", ["DROP INDEX idx_claims_friendly_id", "UPDATE claims SET friendly_id = 'same_one'"], False),
    ("owners", ["UPDATE tags SET user_email = 'eve@example.org'"], False),
    ("links", ["PRAGMA foreign_keys = OFF", "DELETE FROM tags"], False),
]


@pytest.fixture
def db(tmp_path: Path) -> Iterator[PKBDatabase]:
    """A knowledge base in a file with two claims, a tag, a note and a vector."""
    with get_database(PKBConfig(db_path=tmp_path / "pkb.sqlite")) as database:
        api = StructuredAPI(database, {}, database.config, "ann@example.org")
        for statement in ("Whales sing at night", "Ich prüfe 東京 jeden Tag"):
            assert api.add_claim(statement, "fact", "work", tags=["sea"], auto_extract=False).success
        assert api.add_note("Running notes", title="Runs").success
        database.execute(
            "INSERT INTO claim_embeddings (claim_rowid, user_email, model, vector) "
            "VALUES (1, 'ann@example.org', 'm', x'0102')"
        )
        yield database


def wrong(db: PKBDatabase) -> set[tuple[str, bool]]:
    return {(finding.rule, finding.derived) for finding in verify_knowledge(db.config.path)}


@pytest.mark.parametrize(("rule", "statements", "derived"), DAMAGES)
def test_damage_is_found_and_what_is_derived_made_anew(
    db: PKBDatabase, rule: str, statements: list[str], derived: bool
) -> None:
    assert wrong(db) == set()
    connection = create_connection(db.config.path)
    prepare(connection)
    for statement in statements:
        connection.execute(statement)
    connection.close()
    found = wrong(db)
    assert (rule, derived) in found
    assert len(list(repair_knowledge(db, [name for name, made in found if made]))) == sum(made for _, made in found)
    left = wrong(db)
    assert not any(made for _, made in left)
    assert derived == (left == set())


def test_indexes_made_anew_find_what_they_found(db: PKBDatabase) -> None:
    reindex_knowledge(db)
    api = StructuredAPI(db, {}, db.config, "ann@example.org")
    assert [found.claim.statement for found in api.search("whale", strategy="fts").data] == ["Whales sing at night"]
    assert wrong(db) == set()
