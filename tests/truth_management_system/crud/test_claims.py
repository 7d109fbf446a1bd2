"""Retracting a claim, and taking that back."""

from __future__ import annotations

import json

import pytest

from tests.truth_management_system.crud.conftest import Person
from truth_management_system.errors import InvalidKnowledgeError
from truth_management_system.models import Claim

pytestmark = pytest.mark.contract


def test_a_retracted_claim_keeps_its_text_and_tells_when_it_was_retracted(ann: Person) -> None:
    claim = ann.claim("I live in Rome")
    retracted = ann.claims.delete(claim.claim_id)
    assert retracted is not None
    assert (retracted.status, retracted.statement) == ("retracted", "I live in Rome")
    assert retracted.retracted_at is not None
    assert ann.claims.delete(claim.claim_id).retracted_at == retracted.retracted_at  # type: ignore[union-attr]


@pytest.mark.parametrize("status", ["active", "historical"])
def test_a_claim_that_holds_again_has_no_time_of_retraction(ann: Person, status: str) -> None:
    claim = ann.claim("I live in Rome")
    ann.claims.edit(claim.claim_id, {"status": "retracted"})
    assert ann.claims.get(claim.claim_id).retracted_at is not None  # type: ignore[union-attr]
    ann.claims.edit(claim.claim_id, {"status": status})
    again = ann.claims.get(claim.claim_id)
    assert again is not None
    assert (again.status, again.retracted_at) == (status, None)


def test_an_edit_of_something_else_keeps_the_time_of_retraction(ann: Person) -> None:
    claim = ann.claim("I live in Rome")
    retracted = ann.claims.delete(claim.claim_id)
    ann.claims.edit(claim.claim_id, {"statement": "I lived in Rome"})
    again = ann.claims.get(claim.claim_id)
    assert again is not None
    assert retracted is not None
    assert (again.statement, again.retracted_at) == ("I lived in Rome", retracted.retracted_at)


def test_a_claim_does_not_end_before_it_begins(ann: Person) -> None:
    def lives(**valid: str) -> Claim:
        return ann.claims.add(Claim.create("I live in Rome", "fact", "personal", **valid))

    with pytest.raises(InvalidKnowledgeError, match="before it begins"):
        lives(valid_from="2026-02-08", valid_to="2026-02-07")
    assert ann.claims.count() == 0
    day = lives(valid_from="2026-02-08T09:00:00Z", valid_to="2026-02-08")
    for change in ({"valid_to": "2026-02-07T23:00:00Z"}, {"valid_from": "2026-02-10"}):
        with pytest.raises(InvalidKnowledgeError, match="before it begins"):
            ann.claims.edit(day.claim_id, change)
    assert ann.claims.edit(day.claim_id, {"valid_from": "2026-03-01", "valid_to": None}) is not None


def test_a_pinned_claim_stays_so_where_further_data_say_nothing_of_it(ann: Person) -> None:
    claim_id = ann.claim("I drink tea").claim_id
    ann.claims.pin(claim_id)
    for meta, pinned in (({"a": 1}, True), (None, True), ({"pinned": False}, False), ({"b": 2}, False)):
        claim = ann.claims.edit(claim_id, {"meta_json": None if meta is None else json.dumps(meta)})
        assert claim is not None
        assert (claim.pinned, {**claim.meta, "pinned": 0}) == (pinned, {**(meta or {}), "pinned": 0})
