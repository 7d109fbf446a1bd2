"""Which memories go with a message unasked: a hundred pairs that were written before the search was tuned.

The real embedding model decides; one knowledge base holds all the memories.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from chat.context.memories import relevant_memories
from language_models.download.catalogue import entry_named
from language_models.embedded.embeddings import EmbeddedEmbeddingModel
from settings import load_settings
from tests.live_server import ROOT
from truth_management_system import StructuredAPI, get_memory_database
from truth_management_system.interface.structured_api import EmbeddingIndexer, KnowledgeModels

pytestmark = pytest.mark.embedded
KEPT: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "relevance_pairs.json").read_text("utf-8"))
PAIRS: list[dict[str, Any]] = KEPT["pairs"]
SHORT: list[dict[str, str]] = KEPT["short"]
EVERYTHING = 200


Outcomes = list[tuple[dict[str, Any], bool]]
"""Each pair, and whether its memory was given for its message among the memories of all pairs."""


@pytest.fixture(scope="module")
def api() -> Iterator[StructuredAPI]:
    model = EmbeddedEmbeddingModel(entry_named("", work="embedding"), folder=load_settings().model_dir)
    with get_memory_database() as database:
        api = StructuredAPI(database, user_email="ann@example.org", models=KnowledgeModels(embedding=model))
        for memory in dict.fromkeys(pair["memory"] for pair in (*PAIRS, *SHORT)):
            assert api.add_claim(memory, "fact", "personal", auto_extract=False).success
        EmbeddingIndexer(database, model).index_pending()
        yield api


@pytest.fixture(scope="module")
def outcomes(api: StructuredAPI) -> Outcomes:
    return [(pair, pair["memory"] in given(api, pair["message"])) for pair in PAIRS]


def given(api: StructuredAPI, message: str) -> set[str]:
    return {found.claim.statement for found in relevant_memories(api, message, k=EVERYTHING).data}


def test_the_pairs_are_what_they_say_they_are() -> None:
    assert len(PAIRS) == 100
    assert sum(pair["kind"] == "common_words" for pair in PAIRS) >= 20
    assert all(pair["relevant"] == (pair["kind"] == "related") for pair in PAIRS)


def test_at_least_95_are_judged_rightly(outcomes: Outcomes) -> None:
    wrong = [pair for pair, is_given in outcomes if is_given != pair["relevant"]]
    assert len(wrong) <= 5, wrong


def test_no_memory_is_given_for_a_message_that_says_nothing(api: StructuredAPI) -> None:
    assert {message: found for message in KEPT["without_content"] if (found := given(api, message))} == {}


def test_a_word_or_two_bring_what_they_are_about(api: StructuredAPI) -> None:
    assert [pair for pair in SHORT if pair["memory"] not in given(api, pair["message"])] == []


def test_no_memory_is_given_for_a_common_word_alone(outcomes: Outcomes) -> None:
    assert not [pair for pair, is_given in outcomes if is_given and pair["kind"] == "common_words"]
