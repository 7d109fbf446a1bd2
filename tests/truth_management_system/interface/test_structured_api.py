"""Each action says in one shape how it went; one that fails says why and leaves everything as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.truth_management_system.conftest import WORKOUTS, added
from tests.truth_management_system.interface.conftest import Things
from truth_management_system import ActionResult, PKBDatabase, StructuredAPI
from truth_management_system.interface.parts import Outcome, outcome

Stored = Callable[[], dict[str, list[Any]]]
Action = Callable[[Things, Things], ActionResult]
"""What one does with whose things: the first person acts, on ids of the second."""

WORKS: dict[str, Action] = {
    "add_claim": lambda me, my: me.api.add_claim("New", "fact", "work", ["t"], [{"name": "E"}], False),
    "edit_claim": lambda me, my: me.api.edit_claim(my.claim, statement="Changed"),
    "delete_claim": lambda me, my: me.api.delete_claim(my.claim),
    "get_claim": lambda me, my: me.api.get_claim(my.claim),
    "get_claims_by_ids": lambda me, my: me.api.get_claims_by_ids([my.claim]),
    "pin_claim": lambda me, my: me.api.pin_claim(my.claim),
    "list_claims": lambda me, my: me.api.list_claims({"status": "contested"}),
    "supersede_claim": lambda me, my: me.api.supersede_claim(my.claim, my.other_claim, "It is newer."),
    "change_claims": lambda me, my: me.api.change_claims([my.claim], "set_domain", "work"),
    "consolidate_claims": lambda me, my: me.api.consolidate_claims([my.claim, my.other_claim]),
    "edit_note": lambda me, my: me.api.edit_note(my.note, title="Changed"),
    "delete_note": lambda me, my: me.api.delete_note(my.note),
    "get_note": lambda me, my: me.api.get_note(my.note),
    "edit_entity": lambda me, my: me.api.edit_entity(my.entity, name="Coffee"),
    "delete_entity": lambda me, my: me.api.delete_entity(my.entity),
    "edit_tag": lambda me, my: me.api.edit_tag(my.tag, name="meals"),
    "delete_tag": lambda me, my: me.api.delete_tag(my.tag),
    "add_sub_tag": lambda me, my: me.api.add_tag("hot", my.tag),
    "link_tag": lambda me, my: me.api.link_tag_to_claim(my.other_claim, my.tag),
    "unlink_tag": lambda me, my: me.api.unlink_tag_from_claim(my.claim, my.tag),
    "link_entity": lambda me, my: me.api.link_entity_to_claim(my.other_claim, my.entity, "subject"),
    "unlink_entity": lambda me, my: me.api.unlink_entity_from_claim(my.claim, my.entity),
    "get_claim_tags_list": lambda me, my: me.api.get_claim_tags_list(my.claim),
    "get_claim_entities_list": lambda me, my: me.api.get_claim_entities_list(my.claim),
    "get_context": lambda me, my: me.api.get_context(my.context),
    "add_sub_context": lambda me, my: me.api.add_context("Cupboard", parent_context_id=my.context),
    "add_context_with_claims": lambda me, my: me.api.add_context("Bar", claim_ids=[my.claim]),
    "edit_context": lambda me, my: me.api.edit_context(my.context, name="Bar"),
    "delete_context": lambda me, my: me.api.delete_context(my.context),
    "resolve_context": lambda me, my: me.api.resolve_context(my.context),
    "add_claim_to_context": lambda me, my: me.api.add_claim_to_context(my.context, my.other_claim),
    "add_claim_in_context": lambda me, my: me.api.add_claim("New", auto_extract=False, contexts=[my.context]),
    "add_superseding_claim": lambda me, my: me.api.add_claim("New", auto_extract=False, supersedes=my.claim),
    "add_contradicting_claim": lambda me, my: me.api.add_claim("New", auto_extract=False, contradicts=my.claim),
    "remove_claim_from_context": lambda me, my: me.api.remove_claim_from_context(my.context, my.claim),
    "create_conflict_set": lambda me, my: me.api.create_conflict_set([my.claim, my.other_claim]),
    "resolve_conflict_set": lambda me, my: me.api.resolve_conflict_set(my.conflict, "So be it.", my.claim),
}
READS = {"get_claim", "get_note", "get_context", "resolve_context", "get_claim_tags_list", "get_claim_entities_list"}
FOR_ALL = {"add_claim", "list_claims", "get_claims_by_ids", "change_claims"}

BAD_VALUES: dict[str, Action] = {
    "an empty statement": lambda me, my: me.api.add_claim("  ", "fact", "work", auto_extract=False),
    "a statement that is too long": lambda me, my: me.api.add_claim("x" * 20_001, auto_extract=False),
    "a type that is no word": lambda me, my: me.api.add_claim("New", "???", auto_extract=False),
    "a field that there is not": lambda me, my: me.api.add_claim("New", auto_extract=False, colour="red"),
    "a confidence above one": lambda me, my: me.api.add_claim("New", auto_extract=False, confidence=1.1),
    "no time": lambda me, my: me.api.add_claim("New", auto_extract=False, valid_to="tomorrow"),
    "no JSON": lambda me, my: me.api.add_claim("New", auto_extract=False, meta_json="{"),
    "deep JSON": lambda me, my: me.api.add_claim("New", auto_extract=False, meta_json="[" * 100_000),
    "an id that is none": lambda me, my: me.api.add_claim("New", auto_extract=False, friendly_id="9 lives"),
    "an id of another kind": lambda me, my: me.api.add_claim("New", auto_extract=False, friendly_id="my_tag"),
    "tags that are no list": lambda me, my: me.api.add_claim("New", tags="abc", auto_extract=False),
    "an empty tag after a good one": lambda me, my: me.api.add_claim("New", tags=["good", ""], auto_extract=False),
    "an entity without a name": lambda me, my: me.api.add_claim("New", entities=[{}], auto_extract=False),
    "an entity that is no object": lambda me, my: me.api.add_claim("New", entities=["Bob"], auto_extract=False),
    "a role that is none": lambda me, my: me.api.add_claim(
        "New", entities=[{"name": "Bob", "role": "villain"}], auto_extract=False
    ),
    "a status that is none": lambda me, my: me.api.edit_claim(my.claim, status="asleep"),
    "a number of a claim": lambda me, my: me.api.edit_claim(my.claim, claim_number=7),
    "two changes, one of them bad": lambda me, my: me.api.edit_claim(my.claim, statement="New", claim_type=""),
    "more than a hundred claims": lambda me, my: me.api.add_claims_bulk([{"statement": "x"}] * 101),
    "claims that are no list": lambda me, my: me.api.add_claims_bulk("claims"),
    "a change that is none": lambda me, my: me.api.change_claims([my.claim], "explode"),
    "an order that is none": lambda me, my: me.api.list_claims(order_by="statement; DROP TABLE claims"),
    "one claim that replaces itself": lambda me, my: me.api.supersede_claim(my.claim, my.claim),
    "one claim in conflict": lambda me, my: me.api.create_conflict_set([my.claim]),
    "a winner that takes no part": lambda me, my: me.api.resolve_conflict_set(my.conflict, "", "nobody"),
    "a context below itself": lambda me, my: me.api.edit_context(my.context, parent_context_id=my.context),
    "a tag below itself": lambda me, my: me.api.edit_tag(my.tag, parent_tag_id=my.tag),
    "an entity in itself": lambda me, my: me.api.merge_entities(my.entity, my.entity),
    "a tag in itself": lambda me, my: me.api.merge_tags(my.tag, my.tag),
    "one claim to make one of": lambda me, my: me.api.consolidate_claims([my.claim]),
    "a search that is none": lambda me, my: me.api.search("tea", strategy="magic"),
    "a filter that is none": lambda me, my: me.api.search("tea", filters={"colour": "red"}),
    "a filter that is no list": lambda me, my: me.api.search("tea", filters={"claim_types": 7}),
    "a payload that is none": lambda me, my: me.api.import_data({"not": "ours"}),
    "a mode that is none": lambda me, my: me.api.import_data(me.api.export_data().data, mode="replace"),
    "an empty statement to look at": lambda me, my: me.api.analyze_statement(" "),
    "a type without a name": lambda me, my: me.api.add_type("!"),
}


@pytest.mark.parametrize("action", WORKS.values(), ids=WORKS)
def test_an_action_succeeds(ann: Things, db: PKBDatabase, action: Action) -> None:
    result = action(ann, ann)
    assert result.success, result.errors
    assert (result.errors, result.warnings) == ([], [])
    if audit_id := result.metadata.get("audit_id"):
        row = db.fetchone("SELECT user_email, title FROM audit_log WHERE audit_id = ?", [audit_id])
        assert row is not None
        assert row["user_email"] == "ann@example.org"
        assert row["title"]


@pytest.mark.parametrize("name", sorted(set(WORKS) - FOR_ALL))
def test_what_belongs_to_somebody_else_is_not_there(ann: Things, ben: Things, stored: Stored, name: str) -> None:
    before = stored()
    result = WORKS[name](ann, ben)
    assert not result.success
    assert result.data is None
    assert result.metadata["error_code"].endswith("_not_found")
    assert len(result.errors) == 1
    assert result.errors[0].endswith(".")
    assert stored() == before


@pytest.mark.parametrize("name", sorted(set(WORKS) - FOR_ALL))
def test_what_is_not_there_is_answered_like_what_belongs_to_others(ann: Things, ben: Things, name: str) -> None:
    foreign = WORKS[name](ann, ben)
    for field in ("claim", "other_claim", "note", "entity", "tag", "context", "conflict"):
        setattr(ben, field, "missing")
    if name in {"create_conflict_set", "consolidate_claims"}:
        ben.other_claim = "missing too"
    missing = WORKS[name](ann, ben)
    assert not missing.success
    assert missing.metadata["error_code"] == foreign.metadata["error_code"]


@pytest.mark.parametrize("action", BAD_VALUES.values(), ids=BAD_VALUES)
def test_a_bad_value_is_a_sentence_and_changes_nothing(ann: Things, stored: Stored, action: Action) -> None:
    before, history = stored(), ann.api.get_audit_log().data["count"]
    result = action(ann, ann)
    assert not result.success
    assert result.metadata["error_code"] == "bad_request"
    assert result.errors[0][0].isupper() or result.errors[0][0] in "'\"0123456789"
    assert result.errors[0].endswith(".")
    assert stored() == before
    assert ann.api.get_audit_log().data["count"] == history


def test_reading_is_no_change(ann: Things) -> None:
    assert all("audit_id" not in WORKS[name](ann, ann).metadata for name in READS)


def test_an_id_that_is_taken_is_a_conflict(api: StructuredAPI) -> None:
    added(api, friendly_id="my_plan")
    result = api.add_claim("Another", auto_extract=False, friendly_id="My_Plan")
    assert result.metadata["error_code"] == "conflict"
    assert "'My_Plan' is taken" in result.errors[0]


def test_what_nobody_foresaw_is_logged_and_no_exception(api: StructuredAPI, caplog: pytest.LogCaptureFixture) -> None:
    @outcome("try", "thing")
    def fail() -> Outcome:
        raise ZeroDivisionError

    result = fail()
    assert (result.success, result.metadata["error_code"]) == (False, "internal_error")
    assert isinstance(result.metadata["error"], ZeroDivisionError)
    assert "try thing failed" in caplog.text


def test_a_store_that_is_closed_is_said_to_be(api: StructuredAPI) -> None:
    api.db.close()
    results = [
        api.add_claim(WORKOUTS, auto_extract=False),
        api.search("x"),
        api.resolve_reference("x"),
        api.statistics(),
    ]
    assert {result.metadata["error_code"] for result in results} == {"knowledge_unavailable"}


class TestManyAtOnce:
    def test_a_row_that_fails_leaves_the_others_alone(self, api: StructuredAPI) -> None:
        given: list[Any] = [
            {"statement": "One", "tags": ["kept"]},
            {"statement": "Two", "tags": ["lost", ""]},
            {"statement": "", "claim_type": "fact"},
            "no object",
            {"statement": "Three", "colour": "red"},
            {"statement": "Four", "friendly_id": "one_id"},
            {"statement": "Five", "friendly_id": "one_id"},
            None,
            {"statement": "Six"},
        ]
        result = api.add_claims_bulk(given)
        assert result.success
        rows = result.data["results"]
        assert [row["index"] for row in rows] == list(range(9))
        assert [row["index"] for row in rows if row["success"]] == [0, 5, 8]
        assert (result.data["added_count"], result.data["failed_count"]) == (3, 6)
        assert all(row["error"] for row in rows if not row["success"])
        assert {claim.statement for claim in api.claims.list()} == {"One", "Four", "Six"}
        assert [tag.name for tag in api.tags.list()] == ["kept"]

    def test_all_of_it_is_one_change(self, api: StructuredAPI) -> None:
        result = api.add_claims_bulk([{"statement": "One"}, {"statement": "Two"}])
        assert api.get_audit_log().data["count"] == 1
        assert api.undo(result.metadata["audit_id"]).success
        assert api.claims.count() == 0

    def test_nothing_is_added_where_the_first_error_ends_it(self, api: StructuredAPI) -> None:
        result = api.add_claims_bulk([{"statement": "One"}, {"statement": ""}], stop_on_error=True)
        assert (result.success, result.metadata["error_code"]) == (False, "bad_request")
        assert api.claims.count() == api.get_audit_log().data["count"] == 0

    def test_nothing_to_add_is_no_change(self, api: StructuredAPI) -> None:
        result = api.add_claims_bulk([])
        assert result.data == {"results": [], "added_count": 0, "failed_count": 0}
        assert "audit_id" not in result.metadata

    def test_one_change_to_many_claims(self, ann: Things, ben: Things) -> None:
        ids = [ann.claim, ann.claim, "missing", ben.claim, ann.other_claim]
        results = ann.api.change_claims(ids, "add_tag", "hot").data["results"]
        assert [row["success"] for row in results] == [True, False, False, True]
        assert [row["claim_id"] for row in results] == [ann.claim, "missing", ben.claim, ann.other_claim]
        assert len(ann.api.resolve_reference("hot_tag").data["claims"]) == 2
        assert ben.api.tags.find_by_name("hot") == []


class TestReadableIds:
    def test_everything_gets_one_however_it_is_born(self, api: StructuredAPI) -> None:
        api.add_claim("Project A and Project B", "fact", "work", ["big plans"], [{"name": "Mum"}], False)
        api.add_claims_bulk([{"statement": "42", "tags": ["後"], "entities": [{"name": "???", "type": "topic"}]}])
        api.change_claims([api.claims.list()[0].claim_id], "add_tag", "later")
        for name in ("Project A", "Project B"):
            api.add_context(name)
        api.tags.get_or_create("sport")
        api.entities.get_or_create("Acme", "org")
        rows = [
            friendly_id
            for table in ("claims", "tags", "entities", "contexts")
            for (friendly_id,) in api.db.select(f"SELECT friendly_id FROM {table}")
        ]
        assert len(rows) == len(set(rows)) == 11
        assert all(api.resolve_reference(friendly_id).success for friendly_id in rows)
        assert len([row for row in rows if row.startswith("project") and row.endswith("_context")]) == 2

    def test_numbers_count_up_and_are_never_used_again(self, api: StructuredAPI) -> None:
        numbers = []
        for _ in range(3):
            result = api.add_claim(WORKOUTS, auto_extract=False)
            numbers.append(result.data.claim_number)
            assert api.undo(result.metadata["audit_id"]).success
        assert numbers == [1, 2, 3]
        assert added(api.for_user("ann@example.org")).claim_number == 1
        api.add_claims_bulk([{"statement": ""}, {"statement": "One"}])
        assert added(api).claim_number == api.claims.list(order_by="claim_number")[0].claim_number + 1
