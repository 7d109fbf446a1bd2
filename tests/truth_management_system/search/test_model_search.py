"""Searches in which a language model takes part."""

from __future__ import annotations

import json

import pytest

from language_models.errors import ModelUnavailableError
from language_models.testing import Reply, ScriptedChatModel
from tests.truth_management_system.search.conftest import ANN, Person, found
from truth_management_system.database import PKBDatabase
from truth_management_system.search.fts_search import FTSSearchStrategy
from truth_management_system.search.model_search import MapReduceSearchStrategy, RewriteSearchStrategy


@pytest.fixture
def words(db: PKBDatabase, ann: Person) -> FTSSearchStrategy:
    ann.claim("My physician is Dr. Okonfeld")
    ann.claim("The doctor's fish is blue")
    ann.claim("Rain falls on Monday")
    return FTSSearchStrategy(db, ANN)


def rewriting(words: FTSSearchStrategy, model: ScriptedChatModel | None) -> RewriteSearchStrategy:
    return RewriteSearchStrategy(words, model=model, timeout=60)


def judging(words: FTSSearchStrategy, model: ScriptedChatModel | None) -> MapReduceSearchStrategy:
    return MapReduceSearchStrategy(words, model=model, timeout=60)


def answering(*answers: object) -> ScriptedChatModel:
    return ScriptedChatModel(replies=[Reply(json.dumps(answer)) for answer in answers])


def test_what_the_model_asks_in_other_words_is_found_too(words: FTSSearchStrategy):
    model = answering({"queries": ["physician", " "]})
    results = rewriting(words, model).search("doctor")
    assert set(found(results)) == {"The doctor's fish is blue", "My physician is Dr. Okonfeld"}
    assert found(results)[0] == "The doctor's fish is blue"
    assert {result.source for result in results} == {"rewrite"}
    assert results[0].metadata["queries"] == ["doctor", "physician"]
    assert [set(result.metadata["scores"]) for result in results] == [{"fts"}, {"fts"}]


def test_the_model_is_held_to_a_schema_and_asked_without_chance(words: FTSSearchStrategy):
    model = answering({"queries": ["physician"]})
    rewriting(words, model).search("doctor")
    (call,) = model.calls
    assert call.response_format is not None
    assert call.response_format["json_schema"]["schema"]["required"] == ["queries"]
    assert call.temperature == 0.0
    assert call.prompt[-1]["content"] == "doctor"


def test_only_what_the_model_calls_helpful_is_given(words: FTSSearchStrategy, ann: Person):
    ann.claim("Doctor Who is on television")
    model = answering({"helpful": [2, 9, "x"]})
    results = judging(words, model).search("doctor")
    assert len(results) == 1
    assert results[0].metadata["judged"] is True
    assert results[0].source == "mapreduce"
    assert "1. " in model.prompts[0][-1]["content"]


def test_many_candidates_are_judged_some_at_a_time(words: FTSSearchStrategy, ann: Person):
    for number in range(25):
        ann.claim(f"Doctor number {number}")
    model = answering({"helpful": [1]}, {"helpful": []}, {"helpful": [2]})
    assert len(judging(words, model).search("doctor")) == 2
    assert len(model.calls) == 3


def test_where_nothing_is_called_helpful_everything_found_is_given(words: FTSSearchStrategy):
    came_to = judging(words, answering({"helpful": []})).find("doctor")
    assert found(list(came_to.results)) == ["The doctor's fish is blue"]
    assert "none of the findings" in came_to.warnings[0]


def test_a_query_that_finds_nothing_asks_for_no_judgement(words: FTSSearchStrategy):
    model = answering({"helpful": [1]})
    assert list(judging(words, model).find("zebra").results) == []
    assert model.calls == []


@pytest.mark.parametrize("aided", [rewriting, judging])
@pytest.mark.parametrize(
    "model",
    [
        None,
        ScriptedChatModel.failing(ModelUnavailableError("It is being fetched.")),
        ScriptedChatModel.saying("I am only a small model."),
        ScriptedChatModel.saying('{"queries": "physician", "helpful": 3}'),
        ScriptedChatModel.saying("[]"),
    ],
    ids=["none", "failing", "chatting", "no list", "no object"],
)
def test_a_model_that_fails_costs_a_warning(words: FTSSearchStrategy, aided: object, model: ScriptedChatModel | None):
    came_to = aided(words, model).find("doctor", 5)
    assert found(list(came_to.results)) == ["The doctor's fish is blue"]
    assert len(came_to.warnings) == 1
