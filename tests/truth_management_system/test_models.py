"""Things as callers see them: made by hand, out of rows, and as plain values."""

from __future__ import annotations

from enum import StrEnum

import pytest

from tests.truth_management_system.conftest import added, claim
from truth_management_system import (
    Claim,
    ClaimStatus,
    ClaimType,
    Context,
    ContextDomain,
    Entity,
    EntityRole,
    EntityType,
    Note,
    StructuredAPI,
    Tag,
)
from truth_management_system.constants import ConflictStatus
from truth_management_system.models import CLAIM_COLUMNS, CONTEXT_COLUMNS

VOCABULARY: list[tuple[StrEnum, str]] = [
    (ClaimStatus.DRAFT, "draft"),
    (ClaimStatus.EXPIRED, "expired"),
    (ClaimType.OBSERVATION, "observation"),
    (ContextDomain.LIFE_OPS, "life_ops"),
    (EntityType.TOPIC, "topic"),
    (EntityType.SYSTEM, "system"),
    (EntityRole.OBJECT, "object"),
    (EntityRole.ABOUT_PERSON, "about_person"),
    (ConflictStatus.IGNORED, "ignored"),
]


@pytest.mark.parametrize(("member", "text"), VOCABULARY)
def test_words_of_the_vocabulary_are_text(member: StrEnum, text: str) -> None:
    assert member == member.value == text


def test_a_claim_is_made_with_what_it_needs_alone() -> None:
    made = claim()
    assert (made.claim_number, made.friendly_id, made.status) == (0, "", "active")
    assert (made.all_types, made.all_domains) == (["preference"], ["health"])
    assert (made.confidence, made.valid_to, made.questions, made.meta) == (None, None, [], {})
    assert not made.pinned
    assert not made.is_contested
    assert not made.is_retracted


def test_two_claims_never_have_the_same_id() -> None:
    assert len({claim().claim_id for _ in range(100)}) == 100


def test_the_first_type_and_domain_lead_the_further_ones() -> None:
    made = Claim.create("x", "fact", "work", claim_types=["habit", "fact"], context_domains=["work", "health"])
    assert (made.all_types, made.all_domains) == (["fact", "habit"], ["work", "health"])


@pytest.mark.parametrize("given", [["habit", "fact"], ("habit",), '["habit", "fact"]'])
def test_lists_may_be_json_text(api: StructuredAPI, given: object) -> None:
    stored = api.add_claim(
        "x", "fact", "work", auto_extract=False, claim_types=given, possible_questions='["Why?"]'
    ).data
    assert (stored.claim_type, stored.all_types) == ("fact", ["fact", "habit"])
    assert stored.rendered() == "x (answers: Why?)"


def test_a_claim_taken_apart_keeps_its_parts(api: StructuredAPI) -> None:
    stored = added(api, subject_text="I", predicate="prefer", object_text="morning workouts")
    assert (stored.subject_text, stored.predicate, stored.object_text) == ("I", "prefer", "morning workouts")


def test_what_is_stored_comes_back_from_its_row(api: StructuredAPI) -> None:
    stored = added(api, tags=["fitness"], entities=[{"name": "Gym"}])
    context, note = api.add_context("Sport").data, api.add_note("A long text").data
    for table, thing in (
        ("claims", stored),
        ("contexts", context),
        ("notes", note),
        ("tags", api.tags.list()[0]),
        ("entities", api.entities.list()[0]),
    ):
        row = api.db.fetchone(f"SELECT * FROM {table}")
        assert row is not None
        assert type(thing).from_row(row) == thing
    assert tuple(stored.to_dict()) == CLAIM_COLUMNS
    assert tuple(context.to_dict()) == CONTEXT_COLUMNS


@pytest.mark.parametrize(
    "made",
    [
        Note.create(body="A long text", title="Its title"),
        Entity.create(name="Mum", entity_type="person"),
        Tag.create(name="fitness", parent_tag_id="above"),
        Context.create("Sport", "What I do", "above"),
    ],
)
def test_others_are_made_with_an_id_and_times(made: Note | Entity | Tag | Context) -> None:
    row = made.to_dict()
    assert len(next(iter(row.values()))) == 36
    assert row["created_at"].endswith("Z")
    assert row["user_email"] == ""
