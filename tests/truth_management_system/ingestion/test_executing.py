"""What a person approves is done as one change, and each row says what became of it."""

from __future__ import annotations

from typing import Any

import pytest

from truth_management_system import (
    ConflictCRUD,
    ConversationDistiller,
    PKBDatabase,
    StructuredAPI,
    TextIngestionDistiller,
)
from truth_management_system.crud.links import get_supersession_head
from truth_management_system.errors import InvalidKnowledgeError
from truth_management_system.ingestion.plans import TextIngestionPlan

pytestmark = pytest.mark.contract

KNOWN = ("I live in Lisbon", "I have 2 cats", "I prefer tea over coffee")
TEXT = """
- I live in Lisbon near the river
- I have 3 cats
- I prefer tea over coffee
- My boss is called Maria
"""


@pytest.fixture
def plan(api: StructuredAPI) -> TextIngestionPlan:
    for statement in KNOWN:
        assert api.add_claim(statement, auto_extract=False).success
    return TextIngestionDistiller(api).ingest_and_propose(TEXT)


def test_a_text_is_held_against_what_is_known(plan: TextIngestionPlan) -> None:
    assert [proposal.action for proposal in plan.proposals] == ["update", "conflict", "skip", "add"]
    assert [proposal.existing_claim and proposal.existing_claim.statement for proposal in plan.proposals] == [
        *KNOWN,
        None,
    ]
    assert (plan.update_count, plan.edit_count, plan.conflict_count, plan.skip_count, plan.add_count) == (1, 1, 1, 1, 1)
    assert plan.summary == "1 to add, 1 to update, 1 in conflict with what is known, 1 known already."
    assert all(proposal.reason for proposal in plan.proposals)


def test_all_of_it_is_one_change_with_one_undo(api: StructuredAPI, db: PKBDatabase, plan: TextIngestionPlan) -> None:
    before = api.claims.list()
    result = TextIngestionDistiller(api).execute_plan(plan)
    assert [(row["index"], row["success"], row["action"]) for row in result.results] == [
        (0, True, "update"),
        (1, True, "conflict"),
        (2, True, "skip"),
        (3, True, "add"),
    ]
    assert (result.updated_count, result.edited_count, result.conflict_count, result.added_count) == (1, 1, 1, 1)
    old, new = api.claims.list(order_by="claim_number")[0], api.claims.get(result.results[0]["claim_id"])
    assert new is not None
    assert (old.status, get_supersession_head(db, old.claim_id)) == ("superseded", new.claim_id)
    assert [len(conflict.member_claim_ids) for conflict in ConflictCRUD(db, api.user_email).get_open()] == [2]
    assert db.select("SELECT COUNT(*) FROM audit_log WHERE action = 'ingest'")[0][0] == 1
    assert result.audit_id is not None
    assert api.undo(result.audit_id).success
    after = api.claims.list()
    assert {claim.statement for claim in after} == {claim.statement for claim in before}
    assert {claim.status for claim in after} == {"active"}
    assert api.get_open_conflicts().data == []


def test_what_was_changed_on_approval_is_what_is_stored(api: StructuredAPI, plan: TextIngestionPlan) -> None:
    changed = {"statement": "My boss is Ben", "claim_type": "observation", "context_domain": "work", "tags": ["Boss"]}
    result = TextIngestionDistiller(api).execute_plan(plan.plan_id, [{"index": 3, **changed}])
    claim = api.claims.get(result.results[0]["claim_id"])
    assert claim is not None
    assert (claim.statement, claim.claim_type, claim.context_domain) == ("My boss is Ben", "observation", "work")
    assert [tag.name for tag in api.get_claim_tags_list(claim.claim_id).data] == ["Boss"]
    assert api.get_claim_entities_list(claim.claim_id).data == []
    assert claim.questions == []
    assert api.claims.count() == len(KNOWN) + 1


def test_another_action_can_be_chosen(api: StructuredAPI, plan: TextIngestionPlan) -> None:
    chosen = [{"index": 0, "action": "add"}, {"index": 1, "action": "update"}, {"index": 2, "action": "add"}]
    result = TextIngestionDistiller(api).execute_plan(plan, [*chosen, {"index": 3, "action": "skip"}])
    assert (result.added_count, result.updated_count, result.skipped_count, result.failed_count) == (2, 1, 1, 0)
    statuses = [claim.status for claim in api.claims.list(order_by="claim_number")]
    assert statuses == ["active", "superseded", "active", "active", "active", "active"]


def test_a_row_can_be_approved_by_its_index_alone(api: StructuredAPI, plan: TextIngestionPlan) -> None:
    result = TextIngestionDistiller(api).execute_plan(plan, [0, {"index": 1, "action": "skip"}, 3, -1])
    assert [(row["index"], row["action"], row["success"]) for row in result.results] == [
        (0, "update", True),
        (1, "skip", True),
        (3, "add", True),
        (-1, "", False),
    ]


@pytest.mark.parametrize(
    "again", [[0, 0, 3, 3], [{"index": 3}, {"index": 0, "action": "add"}, 3, {"index": 0, "statement": "I live"}]]
)
def test_a_proposal_that_is_named_twice_is_carried_out_once(
    again: list[Any], api: StructuredAPI, plan: TextIngestionPlan
) -> None:
    result = TextIngestionDistiller(api).execute_plan(plan, again)
    assert sum(row["success"] for row in result.results) == result.failed_count == 2
    assert {row["error"] for row in result.results if not row["success"]} == {
        "Proposal 0 was decided by a row before this one.",
        "Proposal 3 was decided by a row before this one.",
    }
    assert api.claims.count() == len(KNOWN) + 2


def test_the_numbers_of_an_answer_in_words_count_once(api: StructuredAPI, plan: TextIngestionPlan) -> None:
    result = ConversationDistiller(api).execute_plan(plan, "4,4")
    assert (result.added_count, result.failed_count) == (1, 1)
    assert api.claims.count() == len(KNOWN) + 1


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ({"index": 9}, "no proposal 9"),
        ({"index": -1}, "no proposal -1"),
        ({"index": True}, "no proposal True"),
        ({}, "no proposal None"),
        ({"index": 3, "action": "burn"}, "'burn' is no action"),
        ({"index": 3, "action": "update"}, "not there any more"),
        ({"index": 3, "statement": "  "}, "statement is empty"),
        ({"index": 3, "statement": 7}, "statement"),
        ({"index": 3, "claim_type": "!!"}, "no type"),
        ({"index": 3, "tags": "boss"}, "list of words"),
        ({"index": 3, "status": "retracted"}, "no status to change"),
    ],
)
def test_a_row_that_makes_no_sense_fails_alone(
    api: StructuredAPI, plan: TextIngestionPlan, row: dict[str, Any], sentence: str
) -> None:
    result = TextIngestionDistiller(api).execute_plan(plan, [row, {"index": 3, "action": "add"}])
    failed, done = result.results
    assert not failed["success"]
    assert sentence in failed["error"]
    assert done["success"]
    assert result.failed_count == 1
    assert api.claims.count() == len(KNOWN) + 1


def test_what_is_gone_is_not_replaced(api: StructuredAPI, plan: TextIngestionPlan) -> None:
    existing = plan.proposals[0].existing_claim
    assert existing is not None
    api.delete_claim(existing.claim_id)
    result = TextIngestionDistiller(api).execute_plan(plan, [{"index": 0}])
    assert "not there any more" in result.results[0]["error"]
    assert api.claims.count() == len(KNOWN)


def test_an_approval_that_is_no_list_is_refused(api: StructuredAPI, plan: TextIngestionPlan) -> None:
    wrong: Any
    for wrong in ("some", ["0"], [0, True], [0, None], [1.0]):
        with pytest.raises(InvalidKnowledgeError, match="Approve"):
            TextIngestionDistiller(api).execute_plan(plan, wrong)
    assert TextIngestionDistiller(api).execute_plan(plan, []).results == []
