"""Another user's things are answered like things that are not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.truth_management_system.crud.conftest import Person
from truth_management_system.errors import KnowledgeError
from truth_management_system.models import Context, Tag

Attempt = Callable[[Person, Any], object]

ATTEMPTS: dict[str, Attempt] = {
    "get an entity": lambda ben, ids: ben.entities.get(ids["entity"]),
    "get many entities": lambda ben, ids: ben.entities.get_many([ids["entity"]]),
    "name an entity": lambda ben, ids: ben.entities.get_by_friendly_id(ids["entity_name"]),
    "edit an entity": lambda ben, ids: ben.entities.edit(ids["entity"], {"name": "Mine"}),
    "delete an entity": lambda ben, ids: ben.entities.delete(ids["entity"]),
    "claims of an entity": lambda ben, ids: ben.entities.resolve_claims(ids["entity"]),
    "count an entity": lambda ben, ids: list(ben.entities.claim_counts([ids["entity"]]).values()),
    "merge into an entity": lambda ben, ids: ben.entities.merge(ids["own_entity"], ids["entity"]),
    "merge an entity": lambda ben, ids: ben.entities.merge(ids["entity"], ids["own_entity"]),
    "get a tag": lambda ben, ids: ben.tags.get(ids["tag"]),
    "edit a tag": lambda ben, ids: ben.tags.edit(ids["tag"], {"name": "Mine"}),
    "delete a tag": lambda ben, ids: ben.tags.delete(ids["tag"]),
    "way down to a tag": lambda ben, ids: ben.tags.get_hierarchy(ids["tag"]),
    "path of a tag": lambda ben, ids: ben.tags.get_full_path(ids["tag"]),
    "children of a tag": lambda ben, ids: ben.tags.get_children(ids["tag"]),
    "claims of a tag": lambda ben, ids: ben.tags.resolve_claims(ids["tag"]),
    "add below a tag": lambda ben, ids: ben.tags.add(Tag.create("Sub", ids["tag"])),
    "get or create below a tag": lambda ben, ids: ben.tags.get_or_create("Sub", ids["tag"]),
    "move below a tag": lambda ben, ids: ben.tags.edit(ids["own_tag"], {"parent_tag_id": ids["tag"]}),
    "merge a tag": lambda ben, ids: ben.tags.merge(ids["tag"], ids["own_tag"]),
    "get a context": lambda ben, ids: ben.contexts.get(ids["context"]),
    "edit a context": lambda ben, ids: ben.contexts.edit(ids["context"], {"name": "Mine"}),
    "delete a context": lambda ben, ids: ben.contexts.delete(ids["context"]),
    "children of a context": lambda ben, ids: ben.contexts.get_children(ids["context"]),
    "claims of a context": lambda ben, ids: ben.contexts.resolve_claims(ids["context"]),
    "direct claims of a context": lambda ben, ids: ben.contexts.claims_of(ids["context"]),
    "contexts of a claim": lambda ben, ids: ben.contexts.contexts_of(ids["claim"]),
    "add below a context": lambda ben, ids: ben.contexts.add(Context.create("Sub", None, ids["context"])),
    "move below a context": lambda ben, ids: ben.contexts.edit(
        ids["own_context"], {"parent_context_id": ids["context"]}
    ),
    "file a claim": lambda ben, ids: ben.contexts.add_claim(ids["own_context"], ids["claim"]),
    "file under a context": lambda ben, ids: ben.contexts.add_claim(ids["context"], ids["own_claim"]),
    "take a claim out": lambda ben, ids: ben.contexts.remove_claim(ids["context"], ids["claim"]),
    "get a conflict": lambda ben, ids: ben.conflicts.get(ids["conflict"]),
    "resolve a conflict": lambda ben, ids: ben.conflicts.resolve(ids["conflict"]),
    "join a conflict": lambda ben, ids: ben.conflicts.add_member(ids["conflict"], ids["own_claim"]),
    "pull a claim into a conflict": lambda ben, ids: ben.conflicts.create([ids["own_claim"], ids["claim"]]),
    "let a claim join": lambda ben, ids: ben.conflicts.add_member(ids["own_conflict"], ids["claim"]),
    "get a note": lambda ben, ids: ben.notes.get(ids["note"]),
    "edit a note": lambda ben, ids: ben.notes.edit(ids["note"], {"body": "Mine"}),
    "delete a note": lambda ben, ids: ben.notes.delete(ids["note"]),
}


def _filled(person: Person, prefix: str = "") -> dict[str, str]:
    entity, tag, context = person.entity("John"), person.tag("work"), person.context("Alpha")
    people = [{"name": "John", "type": "person"}]
    claim = person.claim("one", tags=["work"], contexts=[context.context_id], entities=people)
    others = [person.claim(statement).claim_id for statement in ("two", "three")]
    things = {
        "entity": entity.entity_id,
        "entity_name": entity.friendly_id,
        "tag": tag.tag_id,
        "context": context.context_id,
        "claim": claim.claim_id,
        "conflict": person.conflicts.create(others).conflict_set_id,
        "note": person.note().note_id,
    }
    return {f"{prefix}{name}": identity for name, identity in things.items()}


def _answer(attempt: Attempt, ben: Person, ids: dict[str, str]) -> object:
    """What comes of it, with the id itself taken out of error messages."""
    try:
        return attempt(ben, ids)
    except KnowledgeError as error:
        message = error.message
        for identity in ids.values():
            message = message.replace(identity, "…")
        return type(error), message


@pytest.mark.parametrize("name", ATTEMPTS)
def test_a_foreign_id_is_answered_like_a_missing_one(
    ann: Person, ben: Person, stored: Callable[[], dict[str, list[Any]]], name: str
) -> None:
    own = _filled(ben, "own_")
    ben.entities.edit(own["own_entity"], {"name": "Paul"})
    ben.db.execute("UPDATE entities SET friendly_id = 'paul' WHERE entity_id = ?", [own["own_entity"]])
    foreign = _filled(ann) | own
    missing = {kind: identity if kind in own else f"missing-{kind}" for kind, identity in foreign.items()}
    before = stored()
    assert _answer(ATTEMPTS[name], ben, foreign) == _answer(ATTEMPTS[name], ben, missing)
    assert stored() == before


def test_lists_and_searches_hold_what_is_ones_own(ann: Person, ben: Person) -> None:
    _filled(ann)
    assert ben.entities.list() == ben.entities.find_by_name("John") == ben.entities.search_friendly_ids("j") == []
    assert ben.tags.list() == ben.tags.find_by_name("work") == ben.tags.get_children() == []
    assert ben.contexts.list_all() == ben.contexts.find_by_name("Alpha") == ben.contexts.get_children() == []
    assert ben.conflicts.get_open() == ben.notes.list() == []
    assert [store.count() for store in (ben.entities, ben.tags, ben.contexts, ben.notes)] == [0, 0, 0, 0]
    assert ben.conflicts.count_open() == 0


def test_the_unnamed_user_is_one_of_many(ann: Person) -> None:
    _filled(ann)
    unnamed = Person(ann.db, "")
    assert unnamed.entities.list() == unnamed.contexts.list_all() == unnamed.notes.list() == []
    assert unnamed.tag("work").friendly_id == "work_tag"
