"""Finding claims by what they mean."""

from __future__ import annotations

import pytest

from language_models.errors import ModelUnavailableError
from tests.truth_management_system.search.conftest import ANN, BEN, Person, found
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.crud.filters import SearchFilters
from truth_management_system.database import PKBDatabase
from truth_management_system.search import embedding_search
from truth_management_system.search.embedding_search import EmbeddingSearchStrategy
from truth_management_system.search.vectors import EmbeddingIndexer

pytestmark = pytest.mark.contract


@pytest.fixture
def search(db: PKBDatabase, model: WordVectors) -> EmbeddingSearchStrategy:
    return EmbeddingSearchStrategy(db, ANN, model=model)


def remember(person: Person, model: WordVectors, *statements: str, **fields: object) -> None:
    for statement in statements:
        person.claim(statement, **fields)
    EmbeddingIndexer(person.db, model).index_pending()


def test_what_means_the_same_is_found_without_a_common_word(
    ann: Person, search: EmbeddingSearchStrategy, model: WordVectors
):
    remember(ann, model, "car repair", "doctor visit", "cheese cake")
    (first, *_) = search.search("automobile")
    assert first.claim.statement == "car repair"
    assert first.source == "embedding"
    assert first.score == pytest.approx(float(model.embed(["car repair"])[0] @ model.embed(["car"])[0]), abs=1e-2)


def test_the_nearest_come_first_and_no_more_than_asked_for(
    ann: Person, search: EmbeddingSearchStrategy, model: WordVectors
):
    remember(ann, model, "green tea", "tea", "coffee", "rain")
    results = search.search("tea", k=3)
    assert found(results)[:2] == ["tea", "green tea"]
    assert len(results) == 3
    assert [result.score for result in results] == sorted((result.score for result in results), reverse=True)


def test_others_memories_are_never_found(
    ann: Person, ben: Person, db: PKBDatabase, model: WordVectors, search: EmbeddingSearchStrategy
):
    remember(ann, model, "coffee")
    remember(ben, model, "tea")
    assert found(search.search("tea")) == ["coffee"]
    assert found(EmbeddingSearchStrategy(db, BEN, model=model).search("tea")) == ["tea"]
    assert found(EmbeddingSearchStrategy(db, model=model).search("tea")) == []


@pytest.mark.parametrize("most_tried", [1, 3, 1_000])
def test_filters_give_what_filtering_first_would_give(
    ann: Person,
    search: EmbeddingSearchStrategy,
    model: WordVectors,
    monkeypatch: pytest.MonkeyPatch,
    most_tried: int,
):
    monkeypatch.setattr(embedding_search, "_MOST_TRIED", most_tried)
    monkeypatch.setattr(embedding_search, "_FEWEST_TRIED", 1)
    remember(ann, model, *(f"tea {number}" for number in range(20)), context_domain="health")
    remember(ann, model, "coffee", "rain", context_domain="work")
    only_work = SearchFilters(context_domains=["work"])
    assert set(found(search.search("tea", k=2, filters=only_work))) == {"coffee", "rain"}
    assert found(search.search("coffee", k=1, filters=only_work)) == ["coffee"]
    assert len(search.search("tea", k=20, filters=SearchFilters(context_domains=["health"]))) == 20
    assert search.search("tea", filters=SearchFilters(context_domains=["finance"])) == []


def test_a_changed_claim_is_never_found_by_what_it_said_before(
    ann: Person, search: EmbeddingSearchStrategy, model: WordVectors
):
    remember(ann, model, "tea", "rain", "snow")
    claim = ann.claims.list(order_by="claim_number")[0]
    assert found(search.search("tea", k=1)) == ["tea"]
    ann.claims.edit(claim.claim_id, {"statement": "coffee"})
    assert "coffee" not in found(search.search("tea"))
    EmbeddingIndexer(ann.db, model).index_pending()
    assert found(search.search("coffee", k=1)) == ["coffee"]
    (result,) = (each for each in search.search("tea") if each.claim.statement == "coffee")
    assert result.score < 0.9


def test_deleted_and_retracted_claims_are_not_found(ann: Person, search: EmbeddingSearchStrategy, model: WordVectors):
    remember(ann, model, "tea", "green tea", "rain")
    tea, green, _ = ann.claims.list(order_by="claim_number")
    assert len(search.search("tea")) == 3
    ann.claims.delete(tea.claim_id)
    ann.db.execute("DELETE FROM claims WHERE claim_id = ?", [green.claim_id])
    assert found(search.search("tea")) == ["rain"]
    assert found(search.search("tea", filters=SearchFilters(statuses=["retracted"]))) == ["tea"]


def test_a_contested_memory_says_so(ann: Person, search: EmbeddingSearchStrategy, model: WordVectors):
    remember(ann, model, "tea")
    ann.claims.edit(ann.claims.list()[0].claim_id, {"status": "contested"})
    (result,) = search.search("tea")
    assert result.is_contested
    assert result.warnings


def test_without_a_model_nothing_is_found_and_that_is_said(db: PKBDatabase, ann: Person):
    ann.claim("tea")
    came_to = EmbeddingSearchStrategy(db, ANN, model=None).find("tea")
    assert list(came_to.results) == []
    assert "no embedding model" in came_to.warnings[0]


def test_without_vectors_nothing_is_found_and_that_is_said(ann: Person, search: EmbeddingSearchStrategy):
    assert search.find("tea").warnings == []
    ann.claim("tea")
    came_to = search.find("tea")
    assert list(came_to.results) == []
    assert "being prepared" in came_to.warnings[0]


def test_a_failing_model_costs_a_warning(ann: Person, search: EmbeddingSearchStrategy, model: WordVectors):
    remember(ann, model, "tea")
    model.fails_with = ModelUnavailableError("It is being fetched: 40 %")
    came_to = search.find("tea")
    assert list(came_to.results) == []
    assert "It is being fetched: 40 %" in came_to.warnings[0]


def test_an_empty_query_asks_no_model(ann: Person, search: EmbeddingSearchStrategy, model: WordVectors):
    remember(ann, model, "tea")
    model.embedded.clear()
    assert search.search(" \n ") == []
    assert model.embedded == []
    search.search("tea " * 5_000)
    assert model.embedded[0] == "tea " * 500
