"""What a person may mean who has typed the beginning of a reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiers import examples
from tests.truth_management_system.search.conftest import ANN, Person
from truth_management_system.crud.catalog import DomainCatalog
from truth_management_system.database import PKBDatabase
from truth_management_system.models import Context, Entity, Tag
from truth_management_system.resolution.autocomplete import autocomplete

pytestmark = pytest.mark.contract

KINDS = ["memories", "contexts", "entities", "tags", "domains"]


@pytest.fixture
def typed(db: PKBDatabase) -> Callable[..., dict[str, list[dict[str, Any]]]]:
    return lambda prefix, limit=10: autocomplete(db, ANN, prefix, limit=limit)


def statements(found: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [memory["statement"] for memory in found["memories"]]


def test_every_kind_is_offered_with_what_a_reader_needs(ann: Person, typed: Callable[..., Any]):
    context = ann.contexts.add(Context.create("Health goals"))
    entity = ann.entities.add(Entity.create("Healthy Corner", "org"))
    tag = ann.tags.add(Tag.create("health"))
    claim = ann.claim("I run", friendly_id="health_run_a3f2", context_domain="health", contexts=[context.context_id])
    found = typed("@heal")
    assert list(found) == KINDS
    assert found == {
        "memories": [
            {
                "friendly_id": "health_run_a3f2",
                "claim_id": claim.claim_id,
                "claim_number": 1,
                "statement": "I run",
                "claim_type": "fact",
            }
        ],
        "contexts": [
            {
                "friendly_id": context.friendly_id,
                "context_id": context.context_id,
                "name": "Health goals",
                "claim_count": 1,
            }
        ],
        "entities": [
            {
                "friendly_id": entity.friendly_id,
                "entity_id": entity.entity_id,
                "name": "Healthy Corner",
                "entity_type": "org",
            }
        ],
        "tags": [{"friendly_id": tag.friendly_id, "tag_id": tag.tag_id, "name": "health"}],
        "domains": [{"friendly_id": "health_domain", "name": "health", "claim_count": 1}],
    }


def test_ids_come_before_words_and_each_memory_once(ann: Person, typed: Callable[..., Any]):
    ann.claim("Tea is what I drink", friendly_id="hot_drink")
    ann.claim("I brew tea", friendly_id="TEA_time")
    ann.claim("The cup", friendly_id="tea_cup")
    assert statements(typed("tea")) == ["The cup", "I brew tea", "Tea is what I drink"]
    assert statements(typed("TEA", 2)) == ["The cup", "I brew tea"]


@pytest.mark.parametrize("prefix", ["organ", "organi", "organiz", "organizatio", "organization", "organizations"])
def test_a_word_is_found_at_every_letter_of_it(ann: Person, typed: Callable[..., Any], prefix: str):
    ann.claim("The organization pays", friendly_id="who_pays")
    assert statements(typed(prefix)) == ["The organization pays"]


def test_all_words_have_to_be_there_and_the_last_may_be_begun(ann: Person, typed: Callable[..., Any]):
    ann.claim("Green tea in the morning", friendly_id="first_one")
    ann.claim("Green walls", friendly_id="second_one")
    assert statements(typed("green mor")) == ["Green tea in the morning"]
    assert statements(typed("gre mor")) == []


@pytest.mark.parametrize("prefix", ["#4", "claim_4", "@claim_4", "4", "claim_04"])
def test_numbers_mean_memories(ann: Person, typed: Callable[..., Any], prefix: str):
    for number in range(1, 46):
        ann.claim(f"Thing {'x' * number}")
    numbers = [memory["claim_number"] for memory in typed(prefix)["memories"]]
    assert numbers[:7] == [4, 40, 41, 42, 43, 44, 45]


@pytest.mark.parametrize("prefix", ["%", "_", "a%", "a_c", "'", '"', "*", "tea*", '"tea"', "\0", "\ud800", "x" * 9_000])
def test_wildcards_are_literal_and_any_text_is_a_prefix(ann: Person, typed: Callable[..., Any], prefix: str):
    ann.claim("abc", friendly_id="abc_def")
    ann.tags.add(Tag.create("abc"))
    ann.contexts.add(Context.create("abc"))
    ann.entities.add(Entity.create("abc", "other"))
    found = typed(prefix)
    assert list(found) == KINDS
    assert statements(found) == []


def test_an_underscore_in_an_id_means_itself(ann: Person, typed: Callable[..., Any]):
    ann.claim("one", friendly_id="abc_def")
    ann.claim("two", friendly_id="abcxdef")
    assert statements(typed("abc_")) == ["one"]


@pytest.mark.parametrize("prefix", ["_", "@_", "__"])
def test_what_has_no_word_means_no_group(ann: Person, typed: Callable[..., Any], prefix: str):
    ann.contexts.add(Context.create("Health goals"))
    ann.entities.add(Entity.create("Healthy Corner", "org"))
    ann.tags.add(Tag.create("health"))
    found = typed(prefix)
    assert (found["contexts"], found["entities"], found["tags"]) == ([], [], [])


def test_an_empty_prefix_means_the_newest(ann: Person, typed: Callable[..., Any]):
    for number in range(4):
        ann.claim(f"Tea {number}")
    ann.tags.add(Tag.create("tea"))
    found = typed(" @", 3)
    assert statements(found) == ["Tea 3", "Tea 2", "Tea 1"]
    assert len(found["tags"]) == 1
    assert len(found["domains"]) == 3


def test_groups_are_found_by_the_beginning_of_any_word_of_their_name(ann: Person, typed: Callable[..., Any]):
    ann.entities.add(Entity.create("John Smith", "person"))
    ann.entities.add(Entity.create("Blacksmith", "person"))
    assert [entity["name"] for entity in typed("smi")["entities"]] == ["John Smith"]
    assert [entity["name"] for entity in typed("john_smith")["entities"]] == ["John Smith"]
    assert [entity["name"] for entity in typed("smith jo")["entities"]] == ["John Smith"]


def test_domains_of_the_users_own_are_offered(db: PKBDatabase, ann: Person, typed: Callable[..., Any]):
    DomainCatalog(db, ANN).add("garden")
    ann.claim("Slugs eat salad", context_domain="work", context_domains=["garden"])
    retracted = ann.claim("Snails eat salad", context_domain="garden")
    ann.claims.delete(retracted.claim_id)
    assert typed("gard")["domains"] == [{"friendly_id": "garden_domain", "name": "garden", "claim_count": 1}]
    assert [domain["name"] for domain in typed("life_ops_dom")["domains"]] == ["life_ops"]
    assert [domain["name"] for domain in typed("ops")["domains"]] == ["life_ops"]


def test_domains_that_memories_alone_name_are_offered_while_any_holds(
    ann: Person, ben: Person, typed: Callable[..., Any]
):
    ann.claim("Slugs eat salad", context_domain="garden")
    ann.claim("Hens lay eggs", context_domain="work", context_domains=["garden_hens"])
    gone = ann.claim("Gates squeak", context_domain="garden_gates")
    ann.claims.delete(gone.claim_id)
    ben.claim("Gnomes smile", context_domain="garden_gnomes")
    assert [(each["friendly_id"], each["claim_count"]) for each in typed("gard")["domains"]] == [
        ("garden_domain", 1),
        ("garden_hens_domain", 1),
    ]


def test_others_things_and_retracted_memories_are_not_offered(
    ann: Person, ben: Person, db: PKBDatabase, typed: Callable[..., Any]
):
    ben.claim("Tea of Ben", friendly_id="tea_of_ben")
    ben.tags.add(Tag.create("tea"))
    ben.contexts.add(Context.create("tea"))
    ben.entities.add(Entity.create("tea", "other"))
    DomainCatalog(db, ben.email).add("teatime")
    gone = ann.claim("Tea of Ann", friendly_id="tea_of_ann")
    ann.claims.delete(gone.claim_id)
    for prefix in ("tea", "tea_of", "#1", ""):
        found = typed(prefix)
        assert [found[kind] for kind in KINDS[:-1]] == [[], [], [], []]
        assert "teatime" not in [domain["name"] for domain in found["domains"]]


def test_the_number_of_queries_does_not_grow_with_what_is_stored(
    ann: Person, typed: Callable[..., Any], statements_run: Callable[[Callable[[], object]], int]
):
    ann.claim("Tea", friendly_id="drink_first", contexts=[ann.contexts.add(Context.create("tea")).context_id])
    few = statements_run(lambda: typed("tea"))
    for number in range(30):
        context = ann.contexts.add(Context.create(f"tea {number}"))
        ann.claim(f"Tea {number}", friendly_id=f"tea_{number}_x", tags=[f"tea {number}"], contexts=[context.context_id])
    assert statements_run(lambda: typed("tea")) <= few <= 8


@examples(200)
@given(prefix=st.text(st.one_of(st.characters(exclude_categories=()), st.sampled_from('"*:-^(){}@#%_ claim4AND'))))
def test_no_prefix_breaks_it(typed: Callable[..., Any], prefix: str):
    assert list(typed(prefix)) == KINDS


def test_one_letter_begins_words_of_the_newest_memories(ann: Person, typed: Callable[..., Any]) -> None:
    for number in range(3):
        ann.claim(f"Green walls {number}", friendly_id=f"walls_{number}")
    ann.claim("Green tea", friendly_id="kept_by_ann")
    assert statements(typed("green w")) == ["Green walls 2", "Green walls 1", "Green walls 0"]
    assert statements(typed("green t")) == ["Green tea"]
    assert statements(typed("tea k")) == ["Green tea"]
    assert statements(typed("green x")) == []
