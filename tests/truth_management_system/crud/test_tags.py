"""Tags: a tree of labels, what it finds, and what it refuses."""

from __future__ import annotations

import pytest

from tests.truth_management_system.crud.conftest import Person
from truth_management_system.database import PKBDatabase
from truth_management_system.errors import (
    CycleError,
    DuplicateNameError,
    InvalidKnowledgeError,
    TagNotFoundError,
)
from truth_management_system.models import Tag

pytestmark = pytest.mark.contract


def filed(person: Person, tag: Tag, statement: str) -> str:
    claim = person.claim(statement)
    person.db.execute("INSERT INTO claim_tags VALUES (?, ?)", [claim.claim_id, tag.tag_id])
    return claim.claim_id


def held(person: Person, tag: Tag) -> list[str]:
    return [claim.claim_id for claim in person.tags.resolve_claims(tag.tag_id)]


def put_below(db: PKBDatabase, tag: Tag, parent: Tag) -> None:
    db.execute("UPDATE tags SET parent_tag_id = ? WHERE tag_id = ?", [parent.tag_id, tag.tag_id])


def test_a_tag_is_stored_with_a_readable_id(ann: Person) -> None:
    tag = ann.tag("Fitness")
    assert tag.friendly_id == "fitness_tag"
    assert ann.tags.get_by_friendly_id("FITNESS_TAG") == tag


def test_the_way_down_to_a_tag_begins_at_its_root(ann: Person) -> None:
    health = ann.tag("health")
    fitness = ann.tag("fitness", health)
    running = ann.tag("running", fitness)
    assert ann.tags.get_hierarchy(running.tag_id) == [health, fitness, running]
    assert ann.tags.get_full_path(running.tag_id) == "health/fitness/running"
    assert ann.tags.get_full_path(health.tag_id) == "health"
    assert ann.tags.get_hierarchy("nothing") == []
    assert ann.tags.get_full_path("nothing") == ""


def test_the_way_down_takes_one_query(ann: Person) -> None:
    tag = None
    for depth in range(30):
        tag = ann.tag(f"level {depth}", tag)
    assert tag is not None
    before = ann.db.statements
    assert len(ann.tags.get_hierarchy(tag.tag_id)) == 30
    assert ann.db.statements - before == 1


def test_a_tag_can_not_lie_below_itself(ann: Person) -> None:
    health = ann.tag("health")
    fitness = ann.tag("fitness", health)
    running = ann.tag("running", fitness)
    for below in (health, fitness, running):
        with pytest.raises(ValueError, match=r"^Cycle"):
            ann.tags.edit(health.tag_id, {"parent_tag_id": below.tag_id})
    assert ann.tags.get_full_path(running.tag_id) == "health/fitness/running"


def test_a_circle_that_got_into_the_store_is_told_and_hangs_nothing(ann: Person, db: PKBDatabase) -> None:
    top, middle = ann.tag("top"), ann.tag("middle")
    bottom = ann.tag("bottom", middle)
    claim_id = filed(ann, middle, "Once")
    put_below(db, top, bottom)
    put_below(db, middle, top)
    for tag in (top, middle, bottom):
        with pytest.raises(CycleError, match=r"^Cycle"):
            ann.tags.get_hierarchy(tag.tag_id)
        assert held(ann, tag) == [claim_id]


def test_children_are_listed_by_name(ann: Person) -> None:
    health = ann.tag("health")
    running, eating = ann.tag("running", health), ann.tag("Eating", health)
    assert ann.tags.get_children(health.tag_id) == [eating, running]
    assert ann.tags.get_children() == [health]


def test_names_are_unique_below_one_parent_in_any_case(ann: Person) -> None:
    health, work = ann.tag("health"), ann.tag("work")
    todo = ann.tag("todo", health)
    ids = {todo.friendly_id, ann.tag("todo", work).friendly_id, ann.tag("todo").friendly_id}
    assert len(ids) == 3
    for parent in (health, work, None):
        with pytest.raises(DuplicateNameError):
            ann.tag("TODO", parent)
    with pytest.raises(DuplicateNameError):
        ann.tags.edit(todo.tag_id, {"parent_tag_id": None})


def test_a_tag_is_taken_wherever_it_is_before_one_is_made(ann: Person) -> None:
    health = ann.tag("health")
    fitness = ann.tag("fitness", health)
    assert ann.tags.get_or_create("Fitness") == (fitness, False)
    root, created = ann.tags.get_or_create("work")
    assert (root.parent_tag_id, created) == (None, True)
    below, created = ann.tags.get_or_create("fitness", root.tag_id)
    assert (below.parent_tag_id, created) == (root.tag_id, True)
    assert ann.tags.get_or_create("FITNESS", root.tag_id) == (below, False)
    plain = ann.tag("fitness")
    assert ann.tags.get_or_create("fitness") == (plain, False)


def test_a_tag_holds_its_claims_and_those_of_its_sub_tags_each_once(ann: Person) -> None:
    health = ann.tag("health")
    fitness = ann.tag("fitness", health)
    upper, lower = filed(ann, health, "upper"), filed(ann, fitness, "lower")
    both = filed(ann, health, "both")
    ann.db.execute("INSERT INTO claim_tags VALUES (?, ?)", [both, fitness.tag_id])
    ann.claims.delete(filed(ann, fitness, "gone"))
    assert held(ann, health) == [both, lower, upper]
    assert held(ann, fitness) == [both, lower]
    assert [ann.tags.count_resolved(tag.tag_id) for tag in (health, fitness)] == [3, 2]
    assert ann.tags.claim_counts([health.tag_id, fitness.tag_id]) == {health.tag_id: 2, fitness.tag_id: 2}


def test_ten_levels_below_belong_to_a_tag_and_no_more(ann: Person) -> None:
    tag = root = ann.tag("level 0")
    for depth in range(1, 13):
        tag = ann.tag(f"level {depth}", tag)
        filed(ann, tag, str(depth))
    assert {claim.statement for claim in ann.tags.resolve_claims(root.tag_id)} == {str(n) for n in range(1, 11)}


def test_tags_are_listed_and_counted_by_name(ann: Person) -> None:
    health = ann.tag("health")
    ann.tag("Fitness", health)
    ann.tag("work")
    assert [tag.name for tag in ann.tags.list()] == ["Fitness", "health", "work"]
    assert [tag.name for tag in ann.tags.list(limit=1, offset=1)] == ["health"]
    assert [tag.name for tag in ann.tags.list(query="IT")] == ["Fitness"]
    assert (ann.tags.count(), ann.tags.count("h")) == (3, 1)
    assert [tag.name for tag in ann.tags.search_friendly_ids("fit")] == ["Fitness"]


def test_a_deleted_tags_children_go_up(ann: Person) -> None:
    health = ann.tag("health")
    fitness = ann.tag("fitness", health)
    running = ann.tag("running", fitness)
    assert ann.tags.delete(fitness.tag_id) is True
    assert ann.tags.get_full_path(running.tag_id) == "health/running"
    assert ann.tags.delete(fitness.tag_id) is False


def test_a_child_that_goes_up_joins_its_namesake_there(ann: Person) -> None:
    work, todo = ann.tag("work"), ann.tag("todo")
    below = ann.tag("todo", work)
    urgent, also_urgent = ann.tag("urgent", below), ann.tag("urgent", todo)
    claims = [filed(ann, tag, tag.tag_id) for tag in (below, urgent, also_urgent)]
    ann.tags.delete(work.tag_id)
    assert sorted(held(ann, todo)) == sorted(claims)
    assert [ann.tags.get_full_path(tag.tag_id) for tag in ann.tags.list()] == ["todo", "todo/urgent"]


def test_a_child_may_take_the_place_of_its_own_namesake(ann: Person) -> None:
    upper = ann.tag("fitness")
    lower = ann.tag("fitness", upper)
    claim_id = filed(ann, lower, "I run")
    ann.tags.delete(upper.tag_id)
    assert ann.tags.get_children() == [ann.tags.get(lower.tag_id)]
    assert held(ann, lower) == [claim_id]


def test_of_two_that_are_merged_one_stays_with_everything(ann: Person) -> None:
    sport, fitness = ann.tag("sport"), ann.tag("fitness")
    running, jogging = ann.tag("running", sport), ann.tag("running", fitness)
    swimming = ann.tag("swimming", sport)
    claims = [filed(ann, tag, tag.tag_id) for tag in (sport, fitness, running, jogging, swimming)]
    assert ann.tags.merge(sport.tag_id, fitness.tag_id).tag_id == fitness.tag_id
    assert sorted(held(ann, fitness)) == sorted(claims)
    assert [tag.name for tag in ann.tags.get_children(fitness.tag_id)] == ["running", "swimming"]
    assert ann.tags.get(sport.tag_id) is None


def test_a_tag_may_join_the_one_above_it_but_not_one_below(ann: Person) -> None:
    health = ann.tag("health")
    fitness = ann.tag("fitness", health)
    with pytest.raises(CycleError):
        ann.tags.merge(health.tag_id, fitness.tag_id)
    with pytest.raises(InvalidKnowledgeError, match="itself"):
        ann.tags.merge(health.tag_id, health.tag_id)
    claim_id = filed(ann, fitness, "I run")
    ann.tags.merge(fitness.tag_id, health.tag_id)
    assert held(ann, health) == [claim_id]


def test_a_parent_has_to_be_there(ann: Person) -> None:
    with pytest.raises(TagNotFoundError):
        ann.tags.add(Tag.create("fitness", "nothing"))
    assert ann.tags.count() == 0
