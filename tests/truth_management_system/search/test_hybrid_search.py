"""Finding claims by words and by meaning at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Event

import pytest

from language_models.errors import ModelUnavailableError
from tests.truth_management_system.search.conftest import ANN, Person, found
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.config import PKBConfig
from truth_management_system.crud.filters import SearchFilters
from truth_management_system.database import PKBDatabase, get_memory_database
from truth_management_system.search.hybrid_search import HybridSearchStrategy
from truth_management_system.search.vectors import EmbeddingIndexer

pytestmark = pytest.mark.contract


@pytest.fixture
def search(db: PKBDatabase, model: WordVectors) -> HybridSearchStrategy:
    return HybridSearchStrategy(db, ANN, model=model)


def remember(person: Person, model: WordVectors, *statements: str, **fields: object) -> None:
    for statement in statements:
        person.claim(statement, **fields)
    EmbeddingIndexer(person.db, model).index_pending()


def test_both_searches_take_part_and_each_result_says_which_found_it(
    ann: Person, search: HybridSearchStrategy, model: WordVectors
):
    remember(ann, model, "my car is red", "ZX-81 is the code", "the physician is kind")
    came_to = search.find("automobile")
    assert came_to.results[0].claim.statement == "my car is red"
    assert list(came_to.results[0].metadata["ranks"]) == ["embedding"]
    by_both = search.find("ZX-81").results[0]
    assert by_both.claim.statement == "ZX-81 is the code"
    assert set(by_both.metadata["ranks"]) == {"fts", "embedding"}
    assert by_both.source == "hybrid"
    assert came_to.warnings == []


def test_a_claim_with_a_chance_word_does_not_push_away_what_means_the_same(
    ann: Person, search: HybridSearchStrategy, model: WordVectors
):
    remember(ann, model, "wrong turn signal", "doctor visit tomorrow", "tomorrow rain falls")
    first, *_ = found(search.search("physician visit wrong"))
    assert first == "doctor visit tomorrow"


def test_words_alone_are_searched_where_there_is_no_model_and_that_is_said(ann: Person, db: PKBDatabase):
    ann.claim("I drink tea")
    ann.claim("Tea and cake for everyone who comes on Sunday")
    came_to = HybridSearchStrategy(db, ANN).find("tea cake")
    assert found(list(came_to.results)) == ["Tea and cake for everyone who comes on Sunday", "I drink tea"]
    assert "no embedding model" in came_to.warnings[0]


def test_words_alone_are_searched_while_the_model_is_away(
    ann: Person, search: HybridSearchStrategy, model: WordVectors
):
    remember(ann, model, "I drink tea")
    model.fails_with = ModelUnavailableError("It is being fetched: 40 %")
    came_to = search.find("tea")
    assert found(list(came_to.results)) == ["I drink tea"]
    assert "40 %" in came_to.warnings[0]


def test_a_search_that_is_switched_off_takes_no_part(ann: Person, db: PKBDatabase, model: WordVectors):
    remember(ann, model, "my car is red", "an automobile club")
    only_words = HybridSearchStrategy(db, ANN, config=replace(db.config, embedding_enabled=False), model=model)
    only_meaning = HybridSearchStrategy(db, ANN, config=replace(db.config, fts_enabled=False), model=model)
    assert found(only_words.search("automobile")) == ["an automobile club"]
    assert only_words.find("automobile").warnings == []
    assert {tuple(result.metadata["ranks"]) for result in only_meaning.search("automobile")} == {("embedding",)}


def test_of_two_that_fit_alike_the_surer_one_comes_first(ann: Person, search: HybridSearchStrategy, model: WordVectors):
    remember(ann, model, "tea is fine", confidence=1.0)
    remember(ann, model, "tea is fine!", confidence=0.1)
    assert found(search.search("tea"))[0] == "tea is fine"


def test_filters_and_contested_memories_are_heeded_by_both(
    ann: Person, search: HybridSearchStrategy, model: WordVectors
):
    remember(ann, model, "my car is red", context_domain="life_ops")
    remember(ann, model, "the car park", context_domain="work")
    contested = ann.claims.list()[0]
    ann.claims.edit(contested.claim_id, {"status": "contested"})
    (result,) = search.search("car", filters=SearchFilters(context_domains=["work"]))
    assert result.is_contested
    assert len(result.warnings) == 1
    assert found(search.search("car", filters=SearchFilters(include_contested=False))) == ["my car is red"]


def test_a_search_inside_a_change_does_not_wait_for_itself(model: WordVectors):
    with get_memory_database() as database:
        ann = Person(database, ANN)
        remember(ann, model, "my car is red")
        with database.transaction():
            assert found(HybridSearchStrategy(database, ANN, model=model).search("car")) == ["my car is red"]


def test_weights_of_age_and_confidence_are_those_of_the_settings(ann: Person, db: PKBDatabase, model: WordVectors):
    remember(ann, model, "tea is fine", confidence=0.5)
    config = PKBConfig(db_path=db.config.path, recency_weight=0.0, confidence_weight=0.5)
    (result,) = HybridSearchStrategy(db, ANN, config=config, model=model).search("tea")
    assert result.score == pytest.approx(0.75 * result.metadata["score_before_rerank"])


def test_a_model_that_does_not_answer_holds_no_search_up(ann: Person, db: PKBDatabase, monkeypatch: pytest.MonkeyPatch):
    released = Event()
    model = WordVectors()
    embed = model.embed

    def hanging(texts: Sequence[str]) -> object:
        released.wait(60)
        return embed(texts)

    monkeypatch.setattr(model, "embed", hanging)
    ann.claim("I drink tea")
    impatient = replace(db.config, embedding_timeout=0.01)
    try:
        for _ in range(8):  # more than there are threads to hang in
            came_to = HybridSearchStrategy(db, ANN, config=impatient, model=model).find("tea")
            assert found(list(came_to.results)) == ["I drink tea"]
            assert "did not answer in time" in came_to.warnings[0]
    finally:
        released.set()


def test_nobody_waits_again_for_a_model_that_is_still_late(
    ann: Person, db: PKBDatabase, monkeypatch: pytest.MonkeyPatch
):
    released = Event()
    asked: list[str] = []
    model = WordVectors()
    embed = model.embed

    def hanging(texts: Sequence[str]) -> object:
        asked.extend(texts)
        released.wait(60)
        return embed(texts)

    remember(ann, model, "I drink tea")
    monkeypatch.setattr(model, "embed", hanging)
    patience = replace(db.config, embedding_timeout=0.01)
    try:
        while not asked:  # a request that had not begun when its time was up is not late
            HybridSearchStrategy(db, ANN, config=patience, model=model).find("tea")
        endless = replace(db.config, embedding_timeout=3600.0)
        came_to = HybridSearchStrategy(db, ANN, config=endless, model=model).find("coffee or tea")
        assert "did not answer in time" in came_to.warnings[0]
        assert asked == ["tea"]
    finally:
        released.set()
    until = HybridSearchStrategy(db, ANN, config=endless, model=model)
    while until.find("coffee or tea").warnings:
        pass
    assert "coffee or tea" in asked


def test_whatever_happens_to_search_by_meaning_words_are_found(
    ann: Person,
    search: HybridSearchStrategy,
    model: WordVectors,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
):
    remember(ann, model, "I drink tea")

    def broken(texts: Sequence[str]) -> object:
        raise ValueError("What is this?")

    monkeypatch.setattr(model, "embed", broken)
    came_to = search.find("tea")
    assert found(list(came_to.results)) == ["I drink tea"]
    assert "The log says why" in came_to.warnings[0]
    assert "What is this?" in caplog.text
