"""Claims that contradict each other, until a person decides."""

from __future__ import annotations

import pytest

from tests.truth_management_system.crud.conftest import Person
from truth_management_system.crud.links import LINK_SUPERSEDES, get_outgoing_links, get_supersession_head
from truth_management_system.errors import ClaimNotFoundError, ConflictNotFoundError, InvalidKnowledgeError

pytestmark = pytest.mark.contract


def claims(person: Person, count: int = 2) -> list[str]:
    return [person.claim(f"I wake at {hour}").claim_id for hour in range(5, 5 + count)]


def statuses(person: Person, ids: list[str]) -> list[str]:
    return [claim.status for claim in person.claims.get_many(ids)]


def test_claims_in_conflict_are_contested(ann: Person) -> None:
    ids = claims(ann)
    conflict = ann.conflicts.create([*ids, ids[0]], notes="Which is it?")
    assert (conflict.status, conflict.resolution_notes, conflict.member_claim_ids) == ("open", "Which is it?", ids)
    assert statuses(ann, ids) == ["contested", "contested"]
    assert ann.conflicts.get(conflict.conflict_set_id) == conflict
    assert ann.conflicts.get_open() == [conflict]
    assert ann.conflicts.count_open() == 1


@pytest.mark.parametrize("count", [0, 1])
def test_a_conflict_needs_two_claims(ann: Person, count: int) -> None:
    with pytest.raises(InvalidKnowledgeError, match="two"):
        ann.conflicts.create(claims(ann, count) * 2)
    assert ann.conflicts.count_open() == 0


def test_what_does_not_hold_any_more_can_not_be_in_conflict(ann: Person) -> None:
    ids = claims(ann)
    ann.claims.delete(ids[0])
    with pytest.raises(InvalidKnowledgeError, match="retracted"):
        ann.conflicts.create(ids)
    with pytest.raises(ClaimNotFoundError):
        ann.conflicts.create([ids[1], "nothing"])
    assert statuses(ann, ids) == ["retracted", "active"]


def test_the_winner_holds_and_supersedes_the_others(ann: Person) -> None:
    ids = claims(ann, 3)
    conflict = ann.conflicts.create(ids)
    resolved = ann.conflicts.resolve(conflict.conflict_set_id, "I checked", winning_claim_id=ids[1])
    assert (resolved.status, resolved.resolution_notes, resolved.member_claim_ids) == ("resolved", "I checked", ids)
    assert statuses(ann, ids) == ["superseded", "active", "superseded"]
    assert {link["to_claim_id"] for link in get_outgoing_links(ann.db, ids[1], LINK_SUPERSEDES)} == {ids[0], ids[2]}
    assert get_supersession_head(ann.db, ids[0]) == ids[1]
    assert ann.conflicts.get_open() == []
    change = ann.last_change()
    assert (change["action"], change["object_id"], change["title"]) == (
        "resolve",
        conflict.conflict_set_id,
        "I wake at 5",
    )


def test_without_a_winner_all_hold_again(ann: Person) -> None:
    ids = claims(ann)
    conflict = ann.conflicts.create(ids, notes="Which?")
    resolved = ann.conflicts.resolve(conflict.conflict_set_id)
    assert (resolved.status, resolved.resolution_notes) == ("resolved", "Which?")
    assert statuses(ann, ids) == ["active", "active"]
    assert get_outgoing_links(ann.db, ids[0]) == []


def test_who_is_in_another_open_conflict_stays_contested(ann: Person) -> None:
    ids = claims(ann, 3)
    first, second = ann.conflicts.create(ids[:2]), ann.conflicts.create(ids[1:])
    ann.conflicts.resolve(first.conflict_set_id)
    assert statuses(ann, ids) == ["active", "contested", "contested"]
    ann.conflicts.resolve(second.conflict_set_id, winning_claim_id=ids[1])
    assert statuses(ann, ids) == ["active", "active", "superseded"]


def test_a_member_that_was_retracted_stays_retracted(ann: Person) -> None:
    ids = claims(ann, 3)
    conflict = ann.conflicts.create(ids)
    ann.claims.delete(ids[0])
    open_one = ann.conflicts.get_open()[0]
    assert open_one.member_claim_ids == ids
    with pytest.raises(InvalidKnowledgeError, match="winner"):
        ann.conflicts.resolve(conflict.conflict_set_id, winning_claim_id=ids[0])
    ann.conflicts.resolve(conflict.conflict_set_id, winning_claim_id=ids[1])
    assert statuses(ann, ids) == ["retracted", "active", "superseded"]
    assert get_supersession_head(ann.db, ids[0]) == ids[0]


@pytest.mark.parametrize("status", ["retracted", "superseded", "historical"])
def test_a_conflict_is_closed_where_one_side_alone_is_left_and_says_why(ann: Person, status: str) -> None:
    ids = claims(ann)
    conflict = ann.conflicts.create(ids, notes="Which?")
    if status == "retracted":
        ann.claims.delete(ids[0])
    else:
        ann.claims.edit(ids[0], {"status": status})
    closed = ann.conflicts.existing(conflict.conflict_set_id)
    name = ann.claims.existing(ids[0]).friendly_id
    assert (closed.status, closed.resolution_notes) == ("resolved", f"Which?\nClosed: @{name} is {status}.")
    assert statuses(ann, ids) == [status, "active"]
    assert ann.conflicts.count_open() == 0


def test_a_conflict_stays_open_while_two_sides_hold_and_so_does_another_one(ann: Person) -> None:
    ids = claims(ann, 4)
    first, second = ann.conflicts.create(ids[:3]), ann.conflicts.create([ids[0], ids[3]])
    third = ann.conflicts.create(ids[2:])
    ann.claims.delete(ids[0])
    is_open = [ann.conflicts.existing(each.conflict_set_id).status for each in (first, second, third)]
    assert is_open == ["open", "resolved", "open"]
    assert statuses(ann, ids) == ["retracted", "contested", "contested", "contested"]
    # The loser of one conflict leaves the other one.
    ann.conflicts.resolve(first.conflict_set_id, winning_claim_id=ids[1])
    assert ann.conflicts.count_open() == 0
    assert statuses(ann, ids) == ["retracted", "active", "superseded", "active"]


def test_the_winner_is_a_member(ann: Person) -> None:
    conflict, stranger = ann.conflicts.create(claims(ann)), ann.claim("Other")
    with pytest.raises(InvalidKnowledgeError, match="winner"):
        ann.conflicts.resolve(conflict.conflict_set_id, winning_claim_id=stranger.claim_id)
    assert ann.conflicts.count_open() == 1


def test_a_conflict_is_resolved_once(ann: Person) -> None:
    conflict = ann.conflicts.create(claims(ann))
    ann.conflicts.resolve(conflict.conflict_set_id)
    with pytest.raises(InvalidKnowledgeError, match="resolved already"):
        ann.conflicts.resolve(conflict.conflict_set_id)
    with pytest.raises(InvalidKnowledgeError, match="resolved already"):
        ann.conflicts.add_member(conflict.conflict_set_id, ann.claim("Other").claim_id)
    with pytest.raises(ConflictNotFoundError):
        ann.conflicts.resolve("nothing")


def test_one_more_claim_may_join_once(ann: Person) -> None:
    ids = claims(ann, 3)
    conflict = ann.conflicts.create(ids[:2])
    for _ in range(2):
        assert ann.conflicts.add_member(conflict.conflict_set_id, ids[2]).member_claim_ids == ids
    assert statuses(ann, ids[2:]) == ["contested"]


def test_open_conflicts_are_listed_with_their_members_in_two_queries(ann: Person) -> None:
    made = [ann.conflicts.create(claims(ann)) for _ in range(10)]
    before = ann.db.statements
    assert ann.conflicts.get_open() == made[::-1]
    assert ann.db.statements - before == 2
    assert ann.conflicts.get_open(limit=1, offset=9) == made[:1]
