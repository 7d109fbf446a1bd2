"""Which claims a search looks at."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from tests.truth_management_system.search.conftest import ANN, Person, found
from truth_management_system.crud.claim_fields import utc_time
from truth_management_system.crud.filters import SearchFilters
from truth_management_system.crud.links import link_claim_tag
from truth_management_system.database import PKBDatabase
from truth_management_system.errors import InvalidKnowledgeError
from truth_management_system.models import Context, Entity, Tag
from truth_management_system.search.fts_search import FTSSearchStrategy

pytestmark = pytest.mark.contract


@pytest.fixture
def drinks(ann: Person) -> dict[str, Any]:
    """Four memories of tea, each filed differently, and where they are filed."""
    tag = ann.tags.add(Tag.create("drinks"))
    hot = ann.tags.add(Tag.create("hot", tag.tag_id))
    context = ann.contexts.add(Context.create("Kitchen"))
    shelf = ann.contexts.add(Context.create("Shelf", parent_context_id=context.context_id))
    entity = ann.entities.add(Entity.create("Zoltan", "person"))
    one = ann.claim("tea one", claim_type="habit", claim_types=["fact"], context_domain="health")
    link_claim_tag(ann.db, one.claim_id, hot.tag_id)
    ann.claim("tea two", context_domain="work", context_domains=["health"], contexts=[shelf.context_id])
    ann.claim("tea three", valid_from="2026-01-01T00:00:00Z", valid_to="2026-06-30T00:00:00Z")
    pinned = ann.claim("tea four", entities=[{"name": "Zoltan", "type": "person"}])
    ann.claims.pin(pinned.claim_id)
    return {"tag": tag.tag_id, "context": context.context_id, "entity": entity.entity_id}


def numbers(db: PKBDatabase, **wanted: Any) -> set[str]:
    results = FTSSearchStrategy(db, ANN).search("tea", filters=SearchFilters(**wanted))
    return {statement.removeprefix("tea ") for statement in found(results)}


def test_primary_and_further_types_and_domains_count(db: PKBDatabase, drinks: dict[str, Any]):
    assert numbers(db, claim_types=["habit"]) == {"one"}
    assert numbers(db, claim_types=["fact"]) == {"one", "two", "three", "four"}
    assert numbers(db, context_domains=["health"]) == {"one", "two"}
    assert numbers(db, context_domains=["work", "finance"]) == {"two"}


def test_what_is_filed_below_counts(db: PKBDatabase, drinks: dict[str, Any]):
    assert numbers(db, tags=[drinks["tag"]]) == {"one"}
    assert numbers(db, contexts=[drinks["context"]]) == {"two"}
    assert numbers(db, entities=[drinks["entity"]]) == {"four"}


def test_a_memory_counts_while_it_is_valid(db: PKBDatabase, drinks: dict[str, Any]):
    assert "three" in numbers(db, valid_at="2026-03-01T00:00:00Z")
    assert numbers(db, valid_at="2025-03-01T00:00:00Z") == {"one", "two", "four"}
    assert numbers(db, valid_at="2026-08-01T00:00:00Z") == {"one", "two", "four"}


@pytest.mark.parametrize(
    ("valid_to", "moment", "is_valid"),
    [
        ("2026-06-30", "2026-06-30T18:00:00Z", True),
        ("2026-06-30", "2026-07-01T18:00:00Z", False),
        ("2026-06-30T12:00:00+02:00", "2026-06-30T10:30:00Z", False),
        ("2026-06-30T12:00:00+02:00", "2026-06-30T12:30:00+03:00", True),
        ("2026-06-30T12:00:00", "2026-06-30T12:00:00.000000Z", True),
        ("2026-06-30T12:00:00Z", "2026-06-30", True),
        (None, "2999-01-01", True),
    ],
)
def test_times_are_compared_in_any_zone_and_a_day_lasts_until_its_end(
    ann: Person, valid_to: str | None, moment: str, is_valid: bool
):
    claim = ann.claim("tea", valid_to=valid_to)
    assert bool(ann.claims.list(SearchFilters(valid_at=moment))) is is_valid
    aware = datetime.fromisoformat(utc_time(moment, "this test"))
    assert claim.is_valid_at(aware) is is_valid


@pytest.mark.parametrize("column", ["valid_at", "created_after", "created_before", "updated_after", "updated_before"])
def test_what_is_no_time_is_refused(ann: Person, column: str):
    with pytest.raises(InvalidKnowledgeError, match="'tomorrow' is no time"):
        ann.claims.list(SearchFilters(**{column: "tomorrow"}))


def test_times_of_filters_may_be_in_any_zone(ann: Person):
    ann.claim("tea", created_at="2026-02-08T10:00:00.500000Z")
    assert ann.claims.count(SearchFilters(created_after="2026-02-08T12:00:00+02:00")) == 1
    assert ann.claims.count(SearchFilters(created_after="2026-02-08T12:00:01+02:00")) == 0
    assert ann.claims.count(SearchFilters(created_before="2026-02-08T10:00:01")) == 1


def test_pinned_ones_or_all_others(db: PKBDatabase, drinks: dict[str, Any]):
    assert numbers(db, pinned=True) == {"four"}
    assert numbers(db, pinned=False) == {"one", "two", "three"}


def test_when_a_memory_was_made_or_changed(db: PKBDatabase, ann: Person, drinks: dict[str, Any]):
    first, *others = ann.claims.list(order_by="claim_number")
    later = others[0].created_at
    assert numbers(db, created_before=later) == {"one"}
    assert numbers(db, created_after=later) == {"two", "three", "four"}
    last_change = max(claim.updated_at for claim in [first, *others])
    ann.claims.edit(first.claim_id, {"confidence": 0.5})
    assert numbers(db, updated_after=ann.claims.list()[0].updated_at) == {"one"}
    assert numbers(db, updated_before=last_change) == {"two", "three"}


def test_filters_add_up(db: PKBDatabase, drinks: dict[str, Any]):
    assert numbers(db, context_domains=["health"], claim_types=["habit"]) == {"one"}
    assert numbers(db, context_domains=["health"], pinned=True) == set()
    assert numbers(db, statuses=["contested"], include_contested=False) == set()


def test_contested_ones_can_be_left_out_of_every_status(db: PKBDatabase, ann: Person, drinks: dict[str, Any]):
    first = ann.claims.list(order_by="claim_number")[0]
    ann.claims.edit(first.claim_id, {"status": "contested"})
    assert numbers(db, statuses=[]) == {"one", "two", "three", "four"}
    assert numbers(db, statuses=[], include_contested=False) == {"two", "three", "four"}
