"""What programs of others build on: the doors to the tables and the store, used by themselves."""

from __future__ import annotations

import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path

import pytest

from tests.live_server import ROOT
from tests.truth_management_system.conftest import WORKOUTS, claim
from truth_management_system import (
    ActionResult,
    Claim,
    ClaimCRUD,
    ConflictCRUD,
    Entity,
    EntityCRUD,
    Note,
    NoteCRUD,
    PKBConfig,
    PKBDatabase,
    SearchFilters,
    StructuredAPI,
    Tag,
    TagCRUD,
    get_database,
)


@pytest.fixture
def claims(db: PKBDatabase) -> ClaimCRUD:
    return ClaimCRUD(db)


class TestClaims:
    def test_a_claim_that_is_added_comes_back_with_its_number_and_id(self, claims: ClaimCRUD) -> None:
        given = claim()
        stored = claims.add(given, tags=["fitness", "routine"], entities=[{"type": "place", "name": "Gym"}])
        assert (stored.claim_id, stored.statement, stored.claim_type) == (given.claim_id, WORKOUTS, "preference")
        assert stored.claim_number == 1
        assert given.friendly_id == stored.friendly_id != ""
        assert claims.get(given.claim_id) == stored

    def test_an_edited_claim_says_what_is_new(self, claims: ClaimCRUD) -> None:
        stored = claims.add(claim())
        edited = claims.edit(stored.claim_id, {"statement": "I prefer evening workouts", "confidence": 0.95})
        assert edited is not None
        assert (edited.statement, edited.confidence) == ("I prefer evening workouts", 0.95)
        assert edited.updated_at >= stored.updated_at
        assert claims.edit("missing", {"statement": "x"}) is None

    def test_a_deleted_claim_is_retracted_and_stays(self, claims: ClaimCRUD) -> None:
        stored = claims.add(claim())
        deleted = claims.delete(stored.claim_id)
        assert deleted is not None
        assert deleted.status == "retracted"
        assert deleted.retracted_at is not None
        assert claims.get(stored.claim_id) == deleted
        assert claims.delete("missing") is None

    def test_claims_are_listed_newest_change_first_and_counted(self, claims: ClaimCRUD) -> None:
        stored = [claims.add(claim(f"Memory {number}")) for number in range(5)]
        claims.edit(stored[1].claim_id, {"statement": "Changed"})
        claims.delete(stored[4].claim_id)
        assert [one.claim_number for one in claims.list()] == [5, 2, 4, 3, 1]
        assert [one.claim_number for one in claims.list(limit=2, offset=1)] == [2, 4]
        assert [one.claim_number for one in claims.list(order_by="claim_number")] == [1, 2, 3, 4, 5]
        assert [one.claim_number for one in claims.list(SearchFilters(statuses=["retracted"]))] == [5]
        assert [one.claim_number for one in claims.list({"status": "retracted"})] == [5]
        assert len(claims.get_active(context_domain="health", claim_type="preference")) == 4
        assert (claims.count(), claims.count(SearchFilters())) == (5, 4)

    def test_a_claim_is_found_by_each_of_its_names(self, claims: ClaimCRUD) -> None:
        stored = claims.add(claim())
        assert claims.get_by_friendly_id(stored.friendly_id) == stored
        assert claims.get_by_claim_number(1) == stored
        assert claims.search_friendly_ids(stored.friendly_id[:5]) == [stored]
        assert claims.get_by_friendly_id("nothing") is claims.get_by_claim_number(2) is None

    def test_one_that_was_put_together_by_hand_is_found_by_its_type(self, claims: ClaimCRUD) -> None:
        by_hand = Claim(claim_id="c1", statement="By hand", claim_type="fact", context_domain="work")
        assert claims.add(by_hand).all_types == ["fact"]
        assert claims.list(SearchFilters(claim_types=["fact"], context_domains=["work"])) == [by_hand]


class TestOtherThings:
    def test_notes(self, db: PKBDatabase) -> None:
        notes = NoteCRUD(db)
        note = notes.add(Note.create(body="A long text", title="Its title"))
        assert (note.body, note.title) == ("A long text", "Its title")
        edited = notes.edit(note.note_id, {"body": "Another text"})
        assert edited is not None
        assert edited.body == "Another text"
        assert notes.delete(note.note_id) is True
        assert notes.get(note.note_id) is None

    def test_entities(self, db: PKBDatabase) -> None:
        entities = EntityCRUD(db)
        entity, created = entities.get_or_create("Acme", "org")
        again, created_again = entities.get_or_create("Acme", "org")
        assert (created, created_again, again.entity_id) == (True, False, entity.entity_id)
        assert entities.add(Entity.create(name="Mum", entity_type="person")).name == "Mum"

    def test_tags_form_a_tree_without_circles(self, db: PKBDatabase) -> None:
        tags = TagCRUD(db)
        root = tags.add(Tag.create(name="health"))
        leaf = tags.add(Tag.create(name="fitness", parent_tag_id=root.tag_id))
        assert [tag.name for tag in tags.get_hierarchy(leaf.tag_id)] == ["health", "fitness"]
        with pytest.raises(ValueError, match=r"^Cycle"):
            tags.edit(root.tag_id, {"parent_tag_id": leaf.tag_id})

    def test_a_conflict_makes_its_claims_contested_until_it_is_resolved(self, db: PKBDatabase) -> None:
        claims, conflicts = ClaimCRUD(db), ConflictCRUD(db)
        ids = [claims.add(claim(statement)).claim_id for statement in ("I like coffee", "I don't like coffee")]
        conflict = conflicts.create(ids)
        assert sorted(conflict.member_claim_ids) == sorted(ids)
        assert {one.status for one in claims.get_many(ids)} == {"contested"}
        resolved = conflicts.resolve(conflict.conflict_set_id, "The first is right.", winning_claim_id=ids[0])
        assert (resolved.status, resolved.resolution_notes) == ("resolved", "The first is right.")
        assert [one.status for one in claims.get_many(ids)] == ["active", "superseded"]


class TestTheStore:
    def test_a_file_keeps_what_was_added(self, tmp_path: Path) -> None:
        config = PKBConfig(db_path=str(tmp_path / "deep" / "memories.sqlite"))
        database = PKBDatabase(config)
        database.connect()
        database.initialize_schema()
        database.initialize_schema()
        stored = ClaimCRUD(database).add(claim())
        database.close()
        with get_database(config) as again:
            assert ClaimCRUD(again).get(stored.claim_id) == stored
            assert again.get_schema_version() == import_module("truth_management_system.schema").SCHEMA_VERSION

    def test_statements_take_question_marks_and_give_rows_by_name(self, db: PKBDatabase) -> None:
        ClaimCRUD(db).add(claim())
        sql = "SELECT COUNT(*) AS number, MAX(statement) AS statement FROM claims WHERE claim_type = ?"
        row = db.fetchone(sql, ("preference",))
        assert row is not None
        assert (row["number"], row["statement"]) == (1, WORKOUTS)
        assert db.execute("UPDATE claims SET confidence = ? WHERE claim_number = ?", (0.5, 1)).rowcount == 1
        assert [row["confidence"] for row in db.fetchall("SELECT confidence FROM claims")] == [0.5]
        assert db.fetchone("SELECT 1 FROM claims WHERE claim_number = ?", (9,)) is None

    def test_a_transaction_is_done_wholly_or_not_at_all(self, db: PKBDatabase) -> None:
        def fail_half_way() -> None:
            with db.transaction() as connection:
                connection.execute("INSERT INTO claim_numbers (user_email, last_number) VALUES (?, ?)", ("x", 7))
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail_half_way()
        assert db.fetchall("SELECT * FROM claim_numbers") == []

    @pytest.mark.parametrize("path", ["memories.sqlite", ":memory:"])
    def test_threads_write_at_the_same_time(self, tmp_path: Path, path: str) -> None:
        config = PKBConfig(db_path=path if path == ":memory:" else tmp_path / path)
        with get_database(config) as database:
            api, together = StructuredAPI(database, {}, config), threading.Barrier(2)
            outcomes: list[ActionResult] = []

            def write(name: str) -> None:
                together.wait()
                for number in range(10):
                    outcomes.append(api.add_claim(f"{name} {number}", "fact", "work", ["shared"], auto_extract=False))

            threads = [threading.Thread(target=write, args=(name,)) for name in ("One", "Other")]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert all(outcome.success for outcome in outcomes), [outcome.errors for outcome in outcomes]
            assert sorted(one.claim_number for one in api.claims.list()) == list(range(1, 21))
            assert api.tags.count() == 1

    def test_nothing_is_left_open_when_it_is_closed(self, tmp_path: Path) -> None:
        program = f"""
from truth_management_system import PKBConfig, StructuredAPI, get_database
for path in ({str(tmp_path / "memories.sqlite")!r}, ":memory:"):
    db = get_database(PKBConfig(db_path=path))
    api = StructuredAPI(db, {{}}, PKBConfig())
    assert api.add_claim("I like tea", "preference", "personal").success
    assert api.search("tea").data
    db.close()
"""
        options = ["-X", "dev", "-W", "error"]
        run = subprocess.run([sys.executable, *options, "-c", program], cwd=ROOT, capture_output=True, text=True)
        assert (run.returncode, run.stderr) == (0, "")
