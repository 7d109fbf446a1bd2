"""Which of the claims that a search finds have to do with the query."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from search.relevance import unrelated_for
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.models import Claim
from truth_management_system.search.base import SearchResult
from truth_management_system.search.relevance import NEAR, is_near, is_relevant


class Crowded(WordVectors):
    """A model like text-embedding-ada-002: unrelated texts are near to each other, too."""

    def embed(self, texts: list[str]) -> NDArray[np.float32]:  # type: ignore[override]
        crowded = super().embed(texts) * 0.5
        crowded[:, 0] += 1.0
        return crowded / np.linalg.norm(crowded, axis=1, keepdims=True)


def found(statement: str, **metadata: float) -> SearchResult:
    claim = Claim.create(statement, "fact", "personal")
    return SearchResult(claim=claim, score=0.5, source="embedding", metadata=dict(metadata))


@pytest.mark.parametrize("model", [WordVectors(dimensions=512), Crowded(dimensions=512)], ids=["spread", "crowded"])
def test_what_is_near_is_measured_on_the_model(model: WordVectors) -> None:
    unrelated = unrelated_for(model)
    texts = ["Granite pebbles glitter", "Granite pebbles glitter softly", "Mira collects vinyl records"]
    query, same, other = model.embed(texts)
    z_scores = [(float(query @ each) - unrelated.expected(query)) / unrelated.spread for each in (same, other)]
    assert z_scores[0] > NEAR > z_scores[1]


def test_a_model_is_measured_once() -> None:
    model = WordVectors()
    assert unrelated_for(model) is unrelated_for(model)
    assert len(model.embedded) == 48


@pytest.mark.parametrize(
    ("statement", "z_score", "relevant"),
    [
        ("Mira likes jazz", 2.5, True),
        ("Mira likes jazz", 0.5, False),
        ("I find sleep important this year", 3.0, False),
        ("I find sleep important this year", 6.0, True),
        ("Zephyr runs on port 8473", 0.5, True),
        ("Zephyr runs on port 8473", -0.5, False),
    ],
)
def test_a_common_word_is_no_reason_and_a_rare_one_is(statement: str, z_score: float, relevant: bool) -> None:
    query = "Which port did Zephyr find free this year?"
    assert is_relevant(found(statement, z_score=z_score), query) is relevant


def test_without_vectors_the_words_have_to_do() -> None:
    query = "Which port did Zephyr find free this year?"
    assert is_relevant(found("Zephyr runs on port 8473", coverage=0.3), query)
    assert not is_relevant(found("I find sleep important", coverage=0.3), query)
    assert is_relevant(found("This year I want to read more", coverage=0.6), "What did I want this year?")


def test_inflections_are_the_same_word_and_longer_words_are_not() -> None:
    assert is_relevant(found("I prefer morning workouts"), "When is my workout?")
    assert not is_relevant(found("The planets are far"), "Make a plan")
    assert is_relevant(found("我住在柏林"), "柏林的天气怎么样")


def test_a_list_shows_every_hit_by_words_and_near_ones_by_meaning() -> None:
    assert is_near(found("Tea", z_score=NEAR), "beverages")
    assert not is_near(found("Tea", z_score=NEAR - 0.1), "beverages")
    by_words = found("Tea")
    by_words.source = "fts"
    assert is_near(by_words, "tea")
    assert is_near(by_words, "ok")


@pytest.mark.parametrize(
    "query", ["ok", "Yes.", "and more", "What about this?", "What is 2+2?", "2 - 2", "(2+2)*2", "Danke!", "?"]
)
def test_a_query_that_says_nothing_is_near_to_nothing(query: str) -> None:
    claim = found("I vote by mail, and more, about 2 times", z_score=3.9)
    assert not is_relevant(claim, query)
    assert not is_near(claim, query)


@pytest.mark.parametrize(
    ("query", "least"), [("pets", 2.6), ("my dog?", 2.6), ("a dog for Mira, from Lisbon", NEAR), ("我的狗", NEAR)]
)
def test_a_model_has_to_be_surer_of_few_words(query: str, least: float) -> None:
    assert is_relevant(found("Bruno barks", z_score=least), query)
    assert not is_relevant(found("Bruno barks", z_score=least - 0.1), query)


@pytest.mark.parametrize(
    ("query", "statement"),
    [
        ("When does the 12 leave?", "Bus 12 stops at the office"),
        ("What about 42?", "My locker is 42"),
        ("42?", "My locker is 42"),
        ("call Val", "Val is my cousin"),
        ("Who is Val?", "Val is my cousin"),
        ("Val", "Val is my cousin"),
        ("wow", "I play WoW"),
        ("What was on 2026-12-01?", "The boiler was repaired on 2026-12-01"),
        ("Whose is 030 / 123 45?", "The plumber has 030 / 123 45"),
    ],
)
def test_a_number_or_a_name_brings_what_has_it(query: str, statement: str) -> None:
    assert is_relevant(found(statement), query)
    assert is_relevant(found(statement, z_score=0.5), query)
    assert not is_relevant(found("Bruno barks", z_score=1.9), query)
