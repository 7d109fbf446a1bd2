"""Types and domains: those that come with the program, and a user's own."""

from __future__ import annotations

import pytest

from tests.truth_management_system.crud.conftest import Person
from truth_management_system.constants import ClaimType, ContextDomain
from truth_management_system.crud.catalog import DomainCatalog, TypeCatalog
from truth_management_system.errors import InvalidKnowledgeError

pytestmark = pytest.mark.contract


def test_what_comes_with_the_program_is_listed_first(ann: Person) -> None:
    types, domains = TypeCatalog(ann.db, ann.email).list(), DomainCatalog(ann.db, ann.email).list()
    assert [name for name, _, _ in types] == list(ClaimType)
    assert [name for name, _, _ in domains] == list(ContextDomain)
    assert ("life_ops", "Life ops", 0) in domains


def test_a_users_own_is_normalised_labelled_and_added_once(ann: Person) -> None:
    types = TypeCatalog(ann.db, ann.email)
    assert types.add(" Book Quote ", "Quotes from books") == ("book_quote", "Quotes from books", 0)
    assert types.add("book-quote", "Other") == ("book_quote", "Quotes from books", 0)
    assert types.add("fact") == ("fact", "Fact", 0)
    assert types.list()[-1] == ("book_quote", "Quotes from books", 0)
    assert len(types.list()) == len(ClaimType) + 1
    assert (ann.last_change()["object_type"], ann.last_change()["object_id"]) == ("type", "book_quote")


@pytest.mark.parametrize("name", ["", "x", "1st", "a" * 41, "naïve", "a;b", "%"])
def test_what_is_no_word_is_refused(ann: Person, name: str) -> None:
    domains = DomainCatalog(ann.db, ann.email)
    with pytest.raises(InvalidKnowledgeError):
        domains.add(name)
    assert len(domains.list()) == len(ContextDomain)


def test_claims_that_hold_are_counted(ann: Person) -> None:
    ann.claim("one", context_domain="garden", context_domains=["health"], claim_type="recipe")
    ann.claim("two", context_domain="health", status="contested")
    ann.claims.delete(ann.claim("three", context_domain="health", context_domains=["work"]).claim_id)
    domains = {name: count for name, _, count in DomainCatalog(ann.db, ann.email).list() if count}
    types = {name: count for name, _, count in TypeCatalog(ann.db, ann.email).list() if count}
    assert domains == {"garden": 1, "health": 2}
    assert types == {"recipe": 1, "fact": 1}


def test_a_domain_holds_the_claims_that_name_it_first_or_further(ann: Person) -> None:
    first = ann.claim("one", context_domain="health")
    further = ann.claim("two", context_domain="work", context_domains=["health"])
    ann.claim("three", context_domain="work")
    ann.claims.delete(ann.claim("gone", context_domain="health").claim_id)
    domains = DomainCatalog(ann.db, ann.email)
    before = ann.db.statements
    assert domains.claims_of_domain("Health") == [further, first]
    assert ann.db.statements - before == 1
    assert domains.claims_of_domain("health", limit=1) == [further]
    ann.claims.edit(further.claim_id, {"context_domains": ["work"]})
    assert domains.claims_of_domain("health") == [first]
    assert domains.claims_of_domain("nothing") == []


def test_another_users_own_are_not_listed(ann: Person, ben: Person) -> None:
    DomainCatalog(ann.db, ann.email).add("garden")
    ben.claim(context_domain="boats")
    assert "garden" not in {name for name, _, _ in DomainCatalog(ben.db, ben.email).list()}
    assert "boats" not in {name for name, _, _ in DomainCatalog(ann.db, ann.email).list()}
    assert DomainCatalog(ann.db, ann.email).claims_of_domain("boats") == []
