"""Claims that follow each other, and what they are linked to."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.truth_management_system.crud.conftest import Person
from truth_management_system.crud.links import (
    LINK_SUPERSEDES,
    get_claim_entities,
    get_claim_tags,
    get_incoming_links,
    get_outgoing_links,
    get_supersession_head,
    link_claim_entity,
    link_claim_tag,
    link_claims,
    supersession_heads,
    unlink_claims,
)
from truth_management_system.errors import InvalidKnowledgeError

pytestmark = pytest.mark.contract


def chain(ann: Person, length: int) -> list[str]:
    """Claims of which each supersedes the one before."""
    ids = [ann.claim(f"Version {number}").claim_id for number in range(length)]
    for older, newer in pairwise(ids):
        assert link_claims(ann.db, newer, older, LINK_SUPERSEDES)
    return ids


def test_the_newest_claim_is_at_the_end_of_the_chain(ann: Person) -> None:
    ids = chain(ann, 4)
    assert [get_supersession_head(ann.db, claim_id) for claim_id in ids] == [ids[-1]] * 4
    before = ann.db.statements
    assert supersession_heads(ann.db, ids) == dict.fromkeys(ids, ids[-1])
    assert ann.db.statements - before == 1
    assert supersession_heads(ann.db, []) == {}


def test_a_circle_has_an_end(ann: Person) -> None:
    first, second = chain(ann, 2)
    link_claims(ann.db, first, second, LINK_SUPERSEDES)
    assert get_supersession_head(ann.db, first) in {first, second}


def test_a_link_is_there_once_and_in_both_directions(ann: Person) -> None:
    older, newer = chain(ann, 2)
    assert link_claims(ann.db, newer, older, LINK_SUPERSEDES) is None
    assert link_claims(ann.db, newer, newer, LINK_SUPERSEDES) is None
    incoming, outgoing = get_incoming_links(ann.db, older), get_outgoing_links(ann.db, newer)
    assert incoming == outgoing
    assert [(link["from_claim_id"], link["to_claim_id"], link["link_type"]) for link in incoming] == [
        (newer, older, LINK_SUPERSEDES)
    ]
    assert get_incoming_links(ann.db, newer) == get_outgoing_links(ann.db, newer, "mentions") == []


def test_a_link_can_be_taken_away_and_put_back(ann: Person) -> None:
    older, newer = chain(ann, 2)
    assert unlink_claims(ann.db, newer, older, "mentions") is False
    assert unlink_claims(ann.db, newer, older) is True
    assert get_incoming_links(ann.db, older) == []
    ann.undo()
    assert len(get_incoming_links(ann.db, older)) == 1


def test_claims_of_two_people_are_never_linked(ann: Person, ben: Person) -> None:
    hers, his = ann.claim(), ben.claim(tags=["run"], entities=[{"name": "Gym"}])
    assert link_claims(ann.db, hers.claim_id, his.claim_id, LINK_SUPERSEDES) is None
    assert link_claims(ann.db, hers.claim_id, "missing", LINK_SUPERSEDES) is None
    assert link_claim_tag(ann.db, hers.claim_id, ben.tags.list()[0].tag_id) is False
    assert link_claim_entity(ann.db, hers.claim_id, ben.entities.list()[0].entity_id) is False
    assert get_claim_tags(ann.db, hers.claim_id) == get_claim_entities(ann.db, hers.claim_id) == []


def test_a_claim_is_tagged_once(ann: Person) -> None:
    stored, tag = ann.claim(), ann.tag("run")
    assert link_claim_tag(ann.db, stored.claim_id, tag.tag_id) is True
    assert link_claim_tag(ann.db, stored.claim_id, tag.tag_id) is False
    assert get_claim_tags(ann.db, stored.claim_id) == [tag]


def test_an_entity_plays_each_part_once(ann: Person) -> None:
    stored, entity = ann.claim(), ann.entity("Zoe")
    assert link_claim_entity(ann.db, stored.claim_id, entity.entity_id, "subject") is True
    assert link_claim_entity(ann.db, stored.claim_id, entity.entity_id, "subject") is False
    assert link_claim_entity(ann.db, stored.claim_id, entity.entity_id) is True
    assert get_claim_entities(ann.db, stored.claim_id) == [(entity, "mentioned"), (entity, "subject")]
    with pytest.raises(InvalidKnowledgeError, match="no role"):
        link_claim_entity(ann.db, stored.claim_id, entity.entity_id, "villain")
