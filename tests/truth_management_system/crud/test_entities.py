"""Entities: names, readable ids, claims, and two that become one."""

from __future__ import annotations

import json

import pytest

from tests.truth_management_system.crud.conftest import Person
from truth_management_system.errors import (
    DuplicateNameError,
    EntityNotFoundError,
    FriendlyIdTakenError,
    InvalidKnowledgeError,
)
from truth_management_system.models import Entity

pytestmark = pytest.mark.contract


def about(person: Person, statement: str, name: str, **fields: str) -> str:
    return person.claim(statement, entities=[{"name": name, "type": "person"}], **fields).claim_id


def test_an_entity_is_stored_with_a_readable_id_of_its_name_and_type(ann: Person) -> None:
    added = ann.entity("  John\n Smith ")
    assert (added.name, added.friendly_id) == ("John Smith", "john_smith_person_entity")
    assert ann.entities.get(added.entity_id) == added == ann.entities.get_by_friendly_id("John_Smith_Person_Entity")


def test_the_same_name_of_another_type_gets_an_id_of_its_own(ann: Person) -> None:
    ids = {ann.entity("Apollo", kind).friendly_id for kind in ("person", "project", "system")}
    assert ids == {"apollo_person_entity", "apollo_project_entity", "apollo_system_entity"}


def test_a_name_is_given_once_for_each_type_in_any_case(ann: Person) -> None:
    ann.entity("John Smith")
    with pytest.raises(DuplicateNameError):
        ann.entity("john  SMITH")
    assert ann.entities.count() == 1


def test_an_id_that_the_user_chose_is_kept_if_free_and_well_formed(ann: Person, ben: Person) -> None:
    chosen = ann.entities.add(Entity.create("Johanna", "person", friendly_id="my-sister"))
    assert chosen.friendly_id == "my-sister"
    with pytest.raises(FriendlyIdTakenError):
        ann.entities.add(Entity.create("Maria", "person", friendly_id="My-Sister"))
    with pytest.raises(InvalidKnowledgeError, match="_tag"):
        ann.entities.add(Entity.create("Maria", "person", friendly_id="maria_tag"))
    assert ben.entities.add(Entity.create("Anna", "person", friendly_id="my-sister")).friendly_id == "my-sister"


@pytest.mark.parametrize(
    ("name", "kind"), [("", "person"), ("  ", "person"), ("x" * 201, "person"), ("Ann", "a b!"), ("Ann", "")]
)
def test_an_entity_without_a_name_or_with_a_senseless_type_is_refused(ann: Person, name: str, kind: str) -> None:
    with pytest.raises(InvalidKnowledgeError):
        ann.entities.add(Entity.create(name, kind))
    assert ann.last_change() is None


def test_entities_are_listed_by_name_in_pages_by_type_and_by_words(ann: Person) -> None:
    for name, kind in [("zoe", "person"), ("Adam", "person"), ("Mars 100%", "place"), ("Bea", "person")]:
        ann.entity(name, kind)
    assert [entity.name for entity in ann.entities.list()] == ["Adam", "Bea", "Mars 100%", "zoe"]
    assert [entity.name for entity in ann.entities.list("person", limit=1, offset=1)] == ["Bea"]
    assert [entity.name for entity in ann.entities.list(query="100%")] == ["Mars 100%"]
    assert [entity.name for entity in ann.entities.list(query="0_0")] == []
    assert (ann.entities.count(), ann.entities.count("person"), ann.entities.count("person", "EA")) == (4, 3, 1)


def test_readable_ids_are_found_by_what_they_begin_with_and_wildcards_are_just_text(ann: Person) -> None:
    for name in ("John Smith", "Johanna", "Paul"):
        ann.entity(name)
    assert [entity.name for entity in ann.entities.search_friendly_ids("JOH")] == ["Johanna", "John Smith"]
    assert [entity.name for entity in ann.entities.search_friendly_ids("joh", limit=1)] == ["Johanna"]
    assert ann.entities.search_friendly_ids("%") == ann.entities.search_friendly_ids("j_h") == []


def test_what_is_there_is_taken_before_something_is_made(ann: Person) -> None:
    made, created = ann.entities.get_or_create("John Smith", "person")
    again, created_again = ann.entities.get_or_create("JOHN smith", "Person")
    other, created_other = ann.entities.get_or_create("John Smith", "project")
    assert (created, created_again, created_other) == (True, False, True)
    assert again == made != other


def test_an_edit_changes_what_is_given_and_records_it(ann: Person) -> None:
    entity = ann.entity("Jon")
    edited = ann.entities.edit(entity.entity_id, {"name": "John", "meta_json": {"age": 40}})
    assert edited is not None
    assert (edited.name, edited.friendly_id, json.loads(edited.meta_json or "")) == (
        "John",
        entity.friendly_id,
        {"age": 40, "aliases": ["Jon"]},
    )
    change = ann.last_change()
    assert (change["action"], change["object_type"], change["title"]) == ("edit", "entity", "Jon")
    assert json.loads(change["detail"])["fields"]["name"] == "John"
    assert ann.entities.find_by_name("john") == [edited]
    assert ann.entities.find_by_name("jon") == [edited]


def test_an_edit_that_changes_nothing_leaves_no_trace(ann: Person) -> None:
    entity = ann.entity("John")
    before = ann.last_change()
    assert ann.entities.edit(entity.entity_id, {"name": "John"}) == entity
    assert ann.last_change() == before


def test_an_edit_can_touch_neither_ids_nor_a_name_that_another_one_has(ann: Person) -> None:
    john, _ = ann.entity("John"), ann.entity("Paul")
    for changes in ({"friendly_id": "x_y_z"}, {"user_email": "ben@example.org"}, {"created_at": "now"}):
        with pytest.raises(InvalidKnowledgeError, match="Can't be changed"):
            ann.entities.edit(john.entity_id, changes)
    with pytest.raises(DuplicateNameError):
        ann.entities.edit(john.entity_id, {"name": "paul"})


def test_claims_about_an_entity_are_those_that_hold_newest_change_first_each_once(ann: Person) -> None:
    first, second = about(ann, "John runs", "John"), about(ann, "John swims", "John")
    gone = about(ann, "John rides", "John")
    ann.claims.delete(gone)
    john = ann.entities.find_by_name("John")[0]
    ann.db.execute("INSERT INTO claim_entities VALUES (?, ?, 'subject')", [first, john.entity_id])
    assert [claim.claim_id for claim in ann.entities.resolve_claims(john.entity_id)] == [second, first]
    ann.claims.edit(first, {"statement": "John ran"})
    ann.claims.edit(second, {"status": "contested"})
    assert [claim.claim_id for claim in ann.entities.resolve_claims(john.entity_id)] == [second, first]
    assert [claim.claim_id for claim in ann.entities.resolve_claims(john.entity_id, limit=1)] == [second]
    assert ann.entities.claim_counts([john.entity_id, "nobody"]) == {john.entity_id: 2, "nobody": 0}


def test_counts_of_many_take_one_query(ann: Person) -> None:
    for number in range(30):
        about(ann, f"Guest {number} came", f"Guest {number}")
    ids = [entity.entity_id for entity in ann.entities.list()]
    before = ann.db.statements
    assert set(ann.entities.claim_counts(ids).values()) == {1}
    assert ann.db.statements - before == 1


def test_deleting_an_entity_keeps_its_claims(ann: Person) -> None:
    claim_id = about(ann, "John runs", "John")
    john = ann.entities.find_by_name("John")[0]
    assert ann.entities.delete(john.entity_id) is True
    assert ann.entities.get(john.entity_id) is None
    assert ann.claims.get(claim_id) is not None
    assert ann.entities.delete(john.entity_id) is False


def test_of_two_that_are_merged_one_stays_with_the_claims_and_names_of_both(ann: Person) -> None:
    only_source, only_target = about(ann, "Jon runs", "Jon"), about(ann, "John swims", "John")
    both = ann.claim("Jon is John", entities=[{"name": "Jon", "type": "person"}, {"name": "John", "type": "person"}])
    jon, john = (ann.entities.find_by_name(name)[0] for name in ("Jon", "John"))
    merged = ann.entities.merge(jon.entity_id, john.entity_id)
    assert merged.entity_id == john.entity_id
    assert ann.entities.aliases(merged) == ["Jon"]
    found = {claim.claim_id for claim in ann.entities.resolve_claims(john.entity_id)}
    assert found == {only_source, only_target, both.claim_id}
    assert ann.entities.get(jon.entity_id) is None
    assert (ann.last_change()["action"], ann.last_change()["object_id"]) == ("merge", john.entity_id)


def test_a_name_that_was_merged_away_still_finds_the_entity(ann: Person) -> None:
    jon, john, johnny = ann.entity("Jon"), ann.entity("John"), ann.entity("Johnny")
    ann.entities.merge(jon.entity_id, john.entity_id)
    ann.entities.merge(john.entity_id, johnny.entity_id)
    entity, created = ann.entities.get_or_create("JON", "person")
    assert (entity.entity_id, created) == (johnny.entity_id, False)
    assert ann.entities.aliases(entity) == ["John", "Jon"]


def test_merging_needs_two_of_ones_own(ann: Person, ben: Person) -> None:
    mine, foreign = ann.entity("John"), ben.entity("Jon")
    for source, target in [(mine.entity_id, foreign.entity_id), (foreign.entity_id, mine.entity_id), ("x", "y")]:
        with pytest.raises(EntityNotFoundError):
            ann.entities.merge(source, target)
    with pytest.raises(InvalidKnowledgeError, match="itself"):
        ann.entities.merge(mine.entity_id, mine.entity_id)
