"""The people and stores of the tests of crud, with something in them."""

from __future__ import annotations

import pytest

from tests.truth_management_system.crud.conftest import Person, ann, ben, db, stored
from truth_management_system.crud.catalog import DomainCatalog, TypeCatalog
from truth_management_system.crud.links import link_claims

__all__ = ["ann", "ben", "db", "filled", "stored"]


@pytest.fixture
def filled(ann: Person) -> Person:
    """A person with a bit of everything."""
    alpha = ann.context("Project Alpha")
    backend = ann.context("Backend", alpha)
    ann.contexts.edit(alpha.context_id, {"description": "What we build"})
    health = ann.tag("health")
    ann.tags.edit(ann.tag("jogging", health).tag_id, {"name": "running"})
    people = [{"name": "John Smith", "type": "person", "role": "subject"}]
    one = ann.claim("I run at dawn", tags=["running"], contexts=[alpha.context_id], possible_questions=["When?"])
    ann.claim("John reviews code", contexts=[backend.context_id], entities=people, context_domain="work")
    old, new = ann.claim("I wake at 5"), ann.claim("I wake at 6")
    ann.conflicts.create([old.claim_id, new.claim_id], "Which?")
    link_claims(ann.db, one.claim_id, old.claim_id, "supports")
    ann.claims.delete(ann.claim("I smoke").claim_id)
    ann.claims.pin(one.claim_id)
    ann.note("A long text\nof two lines", "Diary")
    TypeCatalog(ann.db, ann.email).add("quote", "Quotes")
    DomainCatalog(ann.db, ann.email).add("garden")
    return ann
