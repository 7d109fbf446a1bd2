"""Each change is one entry of the history, and can be taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.truth_management_system.crud.conftest import Person
from truth_management_system.crud.catalog import DomainCatalog, TypeCatalog

pytestmark = pytest.mark.contract

Change = Callable[[Person], object]


def _tree(ann: Person) -> tuple[Any, Any, Any]:
    work, health = ann.tags.find_by_name("work")[0], ann.tags.find_by_name("health")[0]
    return work, health, ann.tags.get_children(work.tag_id)[0]


def _contexts(ann: Person) -> list[Any]:
    return [ann.contexts.find_by_name(name)[0] for name in ("Alpha", "Backend", "Beta")]


def _claims(ann: Person) -> list[str]:
    return [claim.claim_id for claim in ann.claims.list(order_by="claim_number")]


def _entities(ann: Person) -> list[str]:
    return [entity.entity_id for entity in ann.entities.list()]


CHANGES: dict[str, tuple[str, str, Change]] = {
    "add an entity": ("add", "entity", lambda ann: ann.entity("Zoe")),
    "edit an entity": ("edit", "entity", lambda ann: ann.entities.edit(_entities(ann)[0], {"name": "Johnny"})),
    "delete an entity": ("delete", "entity", lambda ann: ann.entities.delete(_entities(ann)[0])),
    "merge entities": ("merge", "entity", lambda ann: ann.entities.merge(*_entities(ann)[:2])),
    "add a tag": ("add", "tag", lambda ann: ann.tag("new", _tree(ann)[0])),
    "rename a tag": ("edit", "tag", lambda ann: ann.tags.edit(_tree(ann)[0].tag_id, {"name": "job"})),
    "move a tag": (
        "move",
        "tag",
        lambda ann: ann.tags.edit(_tree(ann)[0].tag_id, {"parent_tag_id": _tree(ann)[1].tag_id}),
    ),
    "delete a tag": ("delete", "tag", lambda ann: ann.tags.delete(_tree(ann)[0].tag_id)),
    "delete a tag whose child has its name": ("delete", "tag", lambda ann: ann.tags.delete(_tree(ann)[2].tag_id)),
    "merge tags": ("merge", "tag", lambda ann: ann.tags.merge(_tree(ann)[0].tag_id, _tree(ann)[1].tag_id)),
    "add a context": ("add", "context", lambda ann: ann.context("Gamma", _contexts(ann)[0])),
    "edit a context": (
        "edit",
        "context",
        lambda ann: ann.contexts.edit(_contexts(ann)[0].context_id, {"name": "A", "description": "More"}),
    ),
    "move a context": (
        "move",
        "context",
        lambda ann: ann.contexts.edit(
            _contexts(ann)[1].context_id, {"parent_context_id": _contexts(ann)[2].context_id}
        ),
    ),
    "delete a context": ("delete", "context", lambda ann: ann.contexts.delete(_contexts(ann)[0].context_id)),
    "file a claim": (
        "link",
        "claim",
        lambda ann: ann.contexts.add_claim(_contexts(ann)[2].context_id, _claims(ann)[0]),
    ),
    "take a claim out": (
        "unlink",
        "claim",
        lambda ann: ann.contexts.remove_claim(_contexts(ann)[0].context_id, _claims(ann)[0]),
    ),
    "open a conflict": ("add", "conflict", lambda ann: ann.conflicts.create(_claims(ann)[:2])),
    "join a conflict": (
        "link",
        "conflict",
        lambda ann: ann.conflicts.add_member(ann.conflicts.get_open()[0].conflict_set_id, _claims(ann)[0]),
    ),
    "decide a conflict": (
        "resolve",
        "conflict",
        lambda ann: ann.conflicts.resolve(ann.conflicts.get_open()[0].conflict_set_id, "So", _claims(ann)[2]),
    ),
    "leave a conflict": (
        "resolve",
        "conflict",
        lambda ann: ann.conflicts.resolve(ann.conflicts.get_open()[0].conflict_set_id),
    ),
    "add a note": ("add", "note", lambda ann: ann.note("Another")),
    "edit a note": ("edit", "note", lambda ann: ann.notes.edit(ann.notes.list()[0].note_id, {"body": "Changed"})),
    "delete a note": ("delete", "note", lambda ann: ann.notes.delete(ann.notes.list()[0].note_id)),
    "add a type": ("add", "type", lambda ann: TypeCatalog(ann.db, ann.email).add("quote")),
    "add a domain": ("add", "domain", lambda ann: DomainCatalog(ann.db, ann.email).add("garden")),
}


@pytest.fixture
def filled(ann: Person) -> Person:
    alpha = ann.context("Alpha")
    backend, _ = ann.context("Backend", alpha), ann.context("Beta")
    work = ann.tag("work")
    todo, health = ann.tag("todo", work), ann.tag("health")
    ann.tag("todo", todo)
    ann.tag("todo", health)
    names = [{"name": "Jon", "type": "person"}, {"name": "John", "type": "person"}]
    ann.claim("one", contexts=[alpha.context_id, backend.context_id], tags=["work", "todo"], entities=names)
    ann.claim("two", contexts=[alpha.context_id], tags=["health"], entities=names[:1])
    ann.conflicts.create([ann.claim("three").claim_id, ann.claim("four").claim_id], "Which?")
    ann.note("A note", "Title")
    return ann


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_one_entry_and_can_be_taken_back(
    filled: Person, stored: Callable[[], dict[str, list[Any]]], name: str
) -> None:
    action, object_type, change = CHANGES[name]
    entries = filled.db.select("SELECT COUNT(*) FROM audit_log")[0][0]
    before = stored()
    change(filled)
    assert stored() != before
    assert filled.db.select("SELECT COUNT(*) FROM audit_log")[0][0] == entries + 1
    entry = filled.last_change()
    assert (entry["action"], entry["object_type"], bool(entry["title"])) == (action, object_type, True)
    filled.undo()
    assert stored() == before
