"""Every action that changes something is one entry of the history, which takes back all of it, and back again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.truth_management_system.interface.conftest import Things
from tests.truth_management_system.interface.test_structured_api import READS, WORKS
from truth_management_system import ActionResult, StructuredAPI, TextIngestionDistiller

pytestmark = pytest.mark.contract

Stored = Callable[[], dict[str, list[Any]]]
Change = Callable[[Things], ActionResult]


def zoe(my: Things) -> StructuredAPI:
    """Somebody else in the same knowledge base."""
    return my.api.for_user("zoe@example.org")


def only(things: list[Any], key: str) -> str:
    assert len(things) == 1
    return str(getattr(things[0], key))


FURTHER: dict[str, Change] = {
    "unpin": lambda my: my.api.pin_claim(my.other_claim, pin=False),
    "add a note": lambda my: my.api.add_note("New"),
    "add an entity": lambda my: my.api.add_entity("Bob", "person"),
    "add a tag": lambda my: my.api.add_tag("New"),
    "add a type": lambda my: my.api.add_type("recipe"),
    "add a domain": lambda my: my.api.add_domain("garden"),
    "merge entities": lambda my: my.api.merge_entities(
        my.entity, only(my.api.entities.find_by_name("Mate"), "entity_id")
    ),
    "merge tags": lambda my: my.api.merge_tags(only(my.api.tags.find_by_name("teas"), "tag_id"), my.tag),
    "resolve without a winner": lambda my: my.api.resolve_conflict_set(my.conflict, "Both are right."),
    "retract many": lambda my: my.api.change_claims([my.claim, my.other_claim], "retract"),
    "tag many": lambda my: my.api.change_claims([my.claim, my.other_claim], "add_tag", "new"),
    "file many": lambda my: my.api.change_claims([my.claim, my.other_claim], "add_to_context", my.context),
    "add many": lambda my: my.api.add_claims_bulk([{"statement": "One", "tags": ["new"]}, {"statement": "Two"}]),
    "import": lambda my: my.api.import_data(zoe(my).export_data().data),
}
NO_CHANGES = READS | {"list_claims", "get_claims_by_ids", "create_conflict_set"}
CHANGES = {name: action for name, action in WORKS.items() if name not in NO_CHANGES}


@pytest.fixture
def my(ann: Things) -> Things:
    """Ann's things, with more of some kinds, beside those of somebody else."""
    Things.of(zoe(ann))
    for result in (
        ann.api.add_entity("Mate", "topic"),
        ann.api.add_tag("teas", ann.tag),
        ann.api.add_context("Cellar", parent_context_id=ann.context),
        ann.api.pin_claim(ann.other_claim),
    ):
        assert result.success, result.errors
    return ann


def assert_taken_back(my: Things, stored: Stored, change: Change) -> None:
    before = stored()
    result = change(my)
    assert result.success, result.errors
    changed = stored()
    assert changed != before
    undone = my.api.undo(result.metadata["audit_id"])
    assert undone.success, undone.errors
    assert stored() == before
    again = my.api.undo(undone.data)
    assert again.success, again.errors
    assert stored() == changed


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_taken_back_and_made_again(my: Things, stored: Stored, name: str) -> None:
    assert_taken_back(my, stored, lambda my: CHANGES[name](my, my))


@pytest.mark.parametrize("change", FURTHER.values(), ids=FURTHER)
def test_so_is_one_of_these(my: Things, stored: Stored, change: Change) -> None:
    assert_taken_back(my, stored, change)


def test_a_conflict_is_taken_back(my: Things, stored: Stored) -> None:
    my.api.resolve_conflict_set(my.conflict)
    assert_taken_back(my, stored, lambda my: my.api.create_conflict_set([my.claim, my.other_claim], "Again"))


def test_a_conflict_that_was_closed_with_a_retracted_side_is_taken_back_with_it(my: Things, stored: Stored) -> None:
    assert my.api.get_open_conflicts().data
    assert_taken_back(my, stored, lambda my: my.api.delete_claim(my.claim))


def test_a_plan_that_was_carried_out_is_one_change(my: Things, stored: Stored) -> None:
    distiller = TextIngestionDistiller(my.api, {})
    plan = distiller.ingest_and_propose("I live in Lisbon. I am allergic to peanuts.")
    before = stored()
    done = distiller.execute_plan(plan)
    assert done.added_count == 2
    assert my.api.undo(my.api.get_audit_log(limit=1).data["entries"][0]["audit_id"]).success
    assert stored() == before


def test_all_changes_are_taken_back_one_after_the_other(my: Things, stored: Stored) -> None:
    others = zoe(my).export_data().data["counts"]
    for entry in my.api.get_audit_log(limit=200).data["entries"]:
        assert my.api.undo(entry["audit_id"]).success
    assert not any(my.api.export_data().data["counts"].values())
    assert zoe(my).export_data().data["counts"] == others


def test_an_entry_says_what_happened_and_whether_it_stands(my: Things) -> None:
    audit_id = my.api.edit_claim(my.claim, statement="I love tea").metadata["audit_id"]
    undone = my.api.undo(audit_id)
    entries = {one["audit_id"]: one for one in my.api.get_audit_log(limit=5).data["entries"]}
    edit = entries[audit_id]
    assert (edit["action"], edit["object_type"], edit["object_id"]) == ("edit", "claim", my.claim)
    assert (edit["title"], edit["detail"]) == ("I like tea", {"fields": {"statement": "I love tea"}})
    assert edit["undone_by"] == undone.data
    assert entries[undone.data]["detail"] == {"undone": audit_id, "action": "edit"}


def test_the_history_is_read_in_pages(my: Things) -> None:
    first = my.api.get_audit_log(limit=4).data["entries"]
    second = my.api.get_audit_log(limit=4, before=first[-1]["audit_seq"]).data["entries"]
    numbers = [one["audit_seq"] for one in [*first, *second]]
    assert numbers == sorted(set(numbers), reverse=True)
    assert {one["action"] for one in my.api.get_audit_log(action="pin").data["entries"]} == {"pin"}


def test_a_change_of_another_user_can_not_be_undone(my: Things) -> None:
    audit_id = my.api.edit_claim(my.claim, statement="I love tea").metadata["audit_id"]
    result = zoe(my).undo(audit_id)
    assert (result.success, result.metadata["error_code"]) == (False, "change_not_found")
    assert my.api.get_claim(my.claim).data.statement == "I love tea"


def test_undoing_twice_is_a_conflict(my: Things) -> None:
    audit_id = my.api.edit_claim(my.claim, statement="I love tea").metadata["audit_id"]
    assert my.api.undo(audit_id).success
    assert my.api.undo(audit_id).metadata["error_code"] == "conflict"
