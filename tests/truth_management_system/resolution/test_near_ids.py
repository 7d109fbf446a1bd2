"""Readable ids around a misspelled one: those that share the longest beginning with it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.truth_management_system.search.conftest import ANN, Person
from truth_management_system.database import PKBDatabase
from truth_management_system.models import Context, Entity, Tag
from truth_management_system.resolution.autocomplete import ids_around

pytestmark = pytest.mark.contract


def around(db: PKBDatabase, typed: str, *, limit: int, email: str = ANN) -> list[str]:
    return [each["friendly_id"] for each in ids_around(db, email, typed, limit=limit)]


def test_the_ids_before_and_behind_are_given_however_many_begin_alike(db: PKBDatabase, ann: Person, ben: Person):
    for number in range(60):
        ann.claim(f"I prefer tea number {number}", friendly_id=f"prefer_tea_{number:04d}")
    ben.claim("I prefer tea", friendly_id="prefer_tea_0041x")
    assert around(db, "prefer_tea_0041x", limit=2) == [f"prefer_tea_00{number}" for number in (41, 40, 42, 43)]
    assert around(db, "PREFER_TEA_0041X", limit=1) == ["prefer_tea_0041", "prefer_tea_0042"]
    assert around(db, "prefer_tea_0041", limit=1, email="ben@example.org") == ["prefer_tea_0041x"]
    assert around(db, "prefer_tea", limit=1, email="eve@example.org") == []


def test_groups_are_given_with_their_kinds_and_what_was_retracted_is_not(db: PKBDatabase, ann: Person):
    claim = ann.claim("I prefer tea", friendly_id="prefer_tea_abcd")
    ann.contexts.add(Context.create("Prefer Kitchen"))
    ann.entities.add(Entity.create("Preston", "person"))
    ann.tags.add(Tag.create("preferred"))
    found: list[Any] = ids_around(db, ANN, "pref", limit=5)
    assert {(each["kind"], each["title"]) for each in found} == {
        ("claim", "I prefer tea"),
        ("context", "Prefer Kitchen"),
        ("entity", "Preston"),
        ("tag", "preferred"),
    }
    ann.claims.delete(claim.claim_id)
    assert "claim" not in {each["kind"] for each in ids_around(db, ANN, "pref", limit=5)}


@pytest.mark.parametrize("typed", ["", "\x00", "\ud800", "'", "x" * 10_000])
def test_any_text_is_one(db: PKBDatabase, ann: Person, typed: str):
    ann.claim("I prefer tea")
    assert len(around(db, typed, limit=3)) == 1
