"""Changes are recorded in the transaction that makes them, and can be taken back while nobody built on them."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from tests.truth_management_system.conftest import added, claim
from truth_management_system import PKBDatabase, StructuredAPI, get_memory_database
from truth_management_system.crud.claims import ClaimCRUD
from truth_management_system.database.audit_log import recording, undelivered, undo, watching
from truth_management_system.errors import ChangeNotFoundError, UndoConflictError

pytestmark = pytest.mark.contract


def entries(db: PKBDatabase) -> list[Any]:
    return list(db.fetchall("SELECT * FROM audit_log ORDER BY audit_seq"))


def newest(db: PKBDatabase) -> str:
    return str(entries(db)[-1]["audit_id"])


def take_back(api: StructuredAPI, audit_id: str | None = None) -> str:
    return undo(api.db, user_email=api.owner, audit_id=audit_id or newest(api.db))


def a_type(name: str) -> dict[str, str]:
    return {"user_email": "", "type_name": name, "display_name": name.title(), "created_at": "2026-01-01"}


def types(db: PKBDatabase) -> list[tuple[str, str]]:
    rows = db.select("SELECT type_name, display_name FROM claim_types_catalog ORDER BY type_name")
    return [(name, label) for name, label in rows]


def a_change(db: PKBDatabase, **more: Any) -> Any:
    return recording(db, user_email="", action="try", object_type="type", **more)


class TestRecording:
    def test_a_change_is_one_entry_with_images_of_its_rows(self, db: PKBDatabase) -> None:
        with a_change(db, object_id="recipe", title="Recipe", detail={"why": "test"}) as changes:
            changes.insert("claim_types_catalog", a_type("recipe"))
            changes.update("claim_types_catalog", {"user_email": "", "type_name": "recipe"}, {"display_name": "Dish"})
        entry = entries(db)[0]
        assert (entry["action"], entry["object_type"], entry["object_id"]) == ("try", "type", "recipe")
        assert (entry["title"], json.loads(entry["detail"])) == ("Recipe", {"why": "test"})
        inserted, updated = json.loads(entry["images"])
        assert inserted[:3] == ["claim_types_catalog", {"user_email": "", "type_name": "recipe"}, None]
        assert updated[2:] == [{"display_name": "Recipe"}, {"display_name": "Dish"}]

    def test_a_change_inside_another_is_part_of_it(self, db: PKBDatabase) -> None:
        with a_change(db) as outer, a_change(db) as inner:
            assert inner is outer
            inner.insert("claim_types_catalog", a_type("recipe"))
        assert len(entries(db)) == 1

    def test_a_change_of_another_store_is_its_own(self, db: PKBDatabase) -> None:
        with get_memory_database() as other, a_change(db) as here:
            with a_change(other) as there:
                there.insert("claim_types_catalog", a_type("recipe"))
            here.insert("claim_types_catalog", a_type("dish"))
            with a_change(db) as again:
                assert again is here
            assert (types(db), types(other)) == ([("dish", "Dish")], [("recipe", "Recipe")])
            assert len(entries(other)) == 1
        assert len(entries(db)) == 1

    def test_what_changes_nothing_leaves_no_entry(self, db: PKBDatabase) -> None:
        missing = {"user_email": "", "type_name": "missing"}
        with a_change(db) as changes:
            assert changes.update("claim_types_catalog", missing, {"display_name": "x"}) is False
            assert changes.delete("claim_types_catalog", missing) is False
            changes.insert_many("claim_types_catalog", [])
        assert entries(db) == []

    def test_a_crash_inside_leaves_nothing(self, db: PKBDatabase) -> None:
        def crash() -> None:
            with a_change(db) as changes:
                changes.insert("claim_types_catalog", a_type("recipe"))
                raise RuntimeError

        with pytest.raises(RuntimeError):
            crash()
        assert types(db) == entries(db) == []
        with a_change(db) as changes:
            changes.insert("claim_types_catalog", a_type("recipe"))
        assert len(entries(db)) == 1

    def test_an_attempt_that_fails_leaves_the_rest_alone(self, db: PKBDatabase) -> None:
        with a_change(db) as changes:
            changes.insert("claim_types_catalog", a_type("kept"))
            with suppress(RuntimeError), changes.attempt():
                changes.insert("claim_types_catalog", a_type("lost"))
                raise RuntimeError
            changes.insert("claim_types_catalog", a_type("too"))
        assert [name for name, _ in types(db)] == ["kept", "too"]
        assert [image[1]["type_name"] for image in json.loads(entries(db)[0]["images"])] == ["kept", "too"]

    @pytest.mark.parametrize(("count", "named"), [(20, 20), (21, 0)])
    def test_the_claims_of_a_change_are_named_to_others_unless_they_are_many(
        self, api: StructuredAPI, count: int, named: int
    ) -> None:
        with a_change(api.db):
            claims = [added(api, f'Memory {number}: "], [\\ {{é') for number in range(count)]
        (change,) = undelivered(api.db)
        assert change.claim_ids == sorted(each.claim_id for each in claims)[:named]

    def test_whoever_watches_is_told_what_was_written_meanwhile(self, db: PKBDatabase) -> None:
        with watching() as outside:
            with watching() as inside, a_change(db) as changes:
                changes.insert("claim_types_catalog", a_type("recipe"))
            with a_change(db) as changes:
                changes.insert("claim_types_catalog", a_type("dish"))
        with a_change(db) as changes:
            changes.insert("claim_types_catalog", a_type("meal"))
        written = [entry["audit_id"] for entry in entries(db)]
        assert (inside, outside) == (written[:1], written[:2])


class TestUndo:
    def test_every_row_is_as_it_was(self, api: StructuredAPI) -> None:
        stored = added(api)
        before = api.claims.get(stored.claim_id)
        api.edit_claim(stored.claim_id, statement="Another", confidence=0.2)
        take_back(api)
        after = api.claims.get(stored.claim_id)
        assert after is not None
        assert before is not None
        after.updated_at = before.updated_at
        assert after == before

    def test_undoing_can_be_undone(self, api: StructuredAPI) -> None:
        stored = added(api)
        api.edit_claim(stored.claim_id, statement="Another")
        edited = newest(api.db)
        undone = take_back(api, edited)
        take_back(api, undone)
        assert api.get_claim(stored.claim_id).data.statement == "Another"
        entry = entries(api.db)[1]
        assert (entry["audit_id"], entry["undone_by"]) == (edited, undone)

    def test_a_change_is_undone_once(self, api: StructuredAPI) -> None:
        added(api)
        first = newest(api.db)
        take_back(api, first)
        with pytest.raises(UndoConflictError, match="undone already"):
            take_back(api, first)

    def test_what_was_changed_again_stays(self, api: StructuredAPI) -> None:
        stored = added(api)
        api.edit_claim(stored.claim_id, statement="Second")
        second = newest(api.db)
        api.edit_claim(stored.claim_id, statement="Third")
        count = len(entries(api.db))
        with pytest.raises(UndoConflictError, match="later change first"):
            take_back(api, second)
        assert api.get_claim(stored.claim_id).data.statement == "Third"
        assert len(entries(api.db)) == count

    def test_other_columns_may_have_changed(self, api: StructuredAPI) -> None:
        stored = added(api)
        api.edit_claim(stored.claim_id, statement="Second")
        second = newest(api.db)
        api.pin_claim(stored.claim_id)
        take_back(api, second)
        after = api.get_claim(stored.claim_id).data
        assert (after.statement, after.pinned) == (stored.statement, True)

    def test_adding_is_undone_only_while_the_claim_is_as_it_was_added(self, api: StructuredAPI) -> None:
        stored = added(api, confidence=1)
        first = newest(api.db)
        api.edit_claim(stored.claim_id, statement="Second")
        with pytest.raises(UndoConflictError):
            take_back(api, first)
        take_back(api)
        take_back(api, first)
        assert api.claims.list() == []

    def test_a_claim_that_has_taken_another_s_place_since_is_not_taken_away(self, api: StructuredAPI) -> None:
        old = added(api, "I live in Lisbon")
        new = api.add_claim("I live in Porto", auto_extract=False)
        superseding = api.supersede_claim(new.object_id, old.claim_id)
        refused = api.undo(new.metadata["audit_id"])
        assert refused.metadata["error_code"] == "conflict"
        assert api.get_claim(new.object_id).success
        for audit_id in (superseding.metadata["audit_id"], new.metadata["audit_id"]):
            assert api.undo(audit_id).success
        assert api.get_claim(old.claim_id).data.status == "active"

    def test_a_claim_that_was_added_in_another_s_place_goes_and_leaves_it(self, api: StructuredAPI) -> None:
        old = added(api, "I live in Lisbon")
        new = api.add_claim("I live in Porto", auto_extract=False, supersedes=old.claim_id)
        undone = api.undo(new.metadata["audit_id"])
        assert api.get_claim(old.claim_id).data.status == "active"
        redone = api.undo(undone.data)
        assert api.get_claim(old.claim_id).data.status == "superseded"
        assert api.undo(redone.data).success
        assert [claim.claim_id for claim in api.claims.list()] == [old.claim_id]

    def test_what_was_linked_to_a_claim_since_comes_back_with_it(self, api: StructuredAPI) -> None:
        stored = added(api)
        first = newest(api.db)
        tag = api.add_tag("fitness").data
        api.link_tag_to_claim(stored.claim_id, tag.tag_id)
        undone = take_back(api, first)
        assert api.tags.resolve_claims(tag.tag_id) == []
        take_back(api, undone)
        assert [one.claim_id for one in api.tags.resolve_claims(tag.tag_id)] == [stored.claim_id]

    def test_a_link_that_is_gone_does_not_keep_its_claim(self, api: StructuredAPI) -> None:
        stored = added(api, tags=["fitness"])
        first = newest(api.db)
        api.unlink_tag_from_claim(stored.claim_id, api.tags.list()[0].tag_id)
        take_back(api, first)
        assert api.claims.list() == api.tags.list() == []

    def test_a_claim_that_comes_back_leaves_newer_ones_their_place(self, api: StructuredAPI) -> None:
        stored = added(api, "Old one")
        undone = take_back(api)
        newer = added(api, "New one")
        take_back(api, undone)
        assert {one.statement for one in api.claims.list()} == {"Old one", "New one"}
        assert (stored.claim_number, newer.claim_number) == (1, 2)
        found = {word: [result.claim.statement for result in api.search(word).data] for word in ("old", "new")}
        assert found == {"old": ["Old one"], "new": ["New one"]}

    def test_what_has_lost_its_place_can_not_come_back(self, api: StructuredAPI) -> None:
        tag = api.add_tag("fitness").data
        api.delete_tag(tag.tag_id)
        deleted = newest(api.db)
        api.add_tag("fitness")
        with pytest.raises(UndoConflictError, match="name or id"):
            take_back(api, deleted)

    def test_what_it_belonged_to_has_to_be_there(self, api: StructuredAPI) -> None:
        stored = added(api)
        context = api.add_context("Sport", claim_ids=[stored.claim_id]).data
        api.remove_claim_from_context(context.context_id, stored.claim_id)
        removed = newest(api.db)
        api.delete_context(context.context_id)
        with pytest.raises(UndoConflictError):
            take_back(api, removed)

    def test_what_was_deleted_since_can_not_be_taken_away(self, api: StructuredAPI) -> None:
        tag = api.add_tag("fitness").data
        first = newest(api.db)
        api.delete_tag(tag.tag_id)
        with pytest.raises(UndoConflictError):
            take_back(api, first)
        assert entries(api.db)[0]["undone_by"] is None

    def test_changes_of_others_are_not_there(self, api: StructuredAPI) -> None:
        ClaimCRUD(api.db, "ann@example.org").add(claim())
        with pytest.raises(ChangeNotFoundError):
            take_back(api)
        with pytest.raises(ChangeNotFoundError):
            take_back(api, "missing")

    @pytest.mark.parametrize("kind", ["tag", "context"])
    def test_what_others_were_put_below_since_is_not_taken_away(self, api: StructuredAPI, kind: str) -> None:
        add, groups = (api.add_tag, api.tags) if kind == "tag" else (api.add_context, api.contexts)
        above = add("Sport").data
        first = newest(api.db)
        below = add("Rowing", **{groups.parent: getattr(above, groups.key)}).data
        with pytest.raises(UndoConflictError, match="below"):
            take_back(api, first)
        assert groups.get(getattr(below, groups.key)) == below

    def test_a_tree_that_came_as_one_goes_and_comes_back_as_one(self, api: StructuredAPI) -> None:
        with a_change(api.db):
            above = api.add_context("Sport").data
            api.add_context("Rowing", parent_context_id=above.context_id)
        undone = take_back(api)
        assert api.contexts.count() == 0
        take_back(api, undone)
        assert [one.name for one in api.contexts.get_children(above.context_id)] == ["Rowing"]

    def test_many_take_no_more_statements_than_few(self, api: StructuredAPI) -> None:
        """Taking an import back, and bringing it in again by taking that back."""

        def statements(user: str, count: int) -> int:
            with get_memory_database() as other:
                source = StructuredAPI(other, {}, other.config)
                source.add_claims_bulk([{"statement": f"Fact {number}", "tags": ["a"]} for number in range(count)])
                payload = source.export_data().data
            person = api.for_user(user)
            imported = person.import_data(payload).metadata["audit_id"]
            before = api.db.statements
            undone = take_back(person, imported)
            assert person.claims.count() == 0
            take_back(person, undone)
            assert person.claims.count() == len(person.tags.resolve_claims(person.tags.list()[0].tag_id)) == count
            return api.db.statements - before

        statements("warm@example.org", 1)  # which columns there are is asked once
        assert statements("ann@example.org", 90) == statements("ben@example.org", 2)
