"""Near duplicates and contradictions are found when something is added."""

from __future__ import annotations

from threading import Event

import pytest

from language_models.errors import ModelUnavailableError
from tests.truth_management_system.ingestion.conftest import BEN, MakeApi
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system import StructuredAPI
from truth_management_system.errors import KnowledgeUnavailableError
from truth_management_system.search.similar import find_similar, find_similar_to_each
from truth_management_system.search.vectors import EmbeddingIndexer


def test_contradictions_come_before_duplicates_before_what_is_related(api: StructuredAPI) -> None:
    for statement in ("I have 2 cats and a dog", "My cats sleep all day", "I have 3 cats", "My boss is tall"):
        api.add_claim(statement, auto_extract=False)
    similar = find_similar("I have 2 cats", search=api.search_strategy, llm=api.llm)
    assert [(one.claim.statement, one.kind) for one in similar[:2]] == [
        ("I have 3 cats", "contradiction"),
        ("I have 2 cats and a dog", "duplicate"),
    ]
    assert "My boss is tall" not in [one.claim.statement for one in similar]
    assert all(0 <= one.similarity <= 1 for one in similar)


def test_adding_tells_what_is_similar(api: StructuredAPI) -> None:
    first = api.add_claim("I live in Lisbon", auto_extract=False).data
    again = api.add_claim("I live in Porto", auto_extract=False, suggest_similar=True)
    assert [(one.claim, one.kind) for one in again.metadata["similar"]] == [(first, "contradiction")]


def test_a_search_that_fails_finds_nothing_and_the_log_quotes_nobody(
    api: StructuredAPI, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_arguments: object, **_more: object) -> None:
        raise KnowledgeUnavailableError("It is away.")

    monkeypatch.setattr(api.search_strategy, "search", fail)
    assert find_similar("I have 2 cats", search=api.search_strategy, llm=api.llm) == []
    assert "compared with none" in caplog.text
    assert "cats" not in caplog.text


def test_vectors_find_what_words_do_not(make_api: MakeApi) -> None:
    vectors = WordVectors({"sofa": "couch", "crimson": "red"})
    api = make_api(None, vectors)
    api.add_claim("My couch is red", auto_extract=False)
    EmbeddingIndexer(api.db, vectors).index_pending()
    assert [one.kind for one in find_similar("My sofa is crimson", search=api.search_strategy, llm=api.llm)] == [
        "duplicate"
    ]


def test_where_vectors_fail_words_are_compared_and_it_is_said(make_api: MakeApi) -> None:
    vectors = WordVectors()
    vectors.fails_with = ModelUnavailableError("No vectors today.")
    api = make_api(None, vectors)
    api.add_claim("I live in Lisbon", auto_extract=False)
    assert [one.kind for one in find_similar("I live in Lisbon.", search=api.search_strategy, llm=api.llm)] == [
        "duplicate"
    ]
    assert api.llm.take_warnings() == ["Statements were compared by their words alone: No vectors today."]


def test_no_text_waits_long_for_a_model_that_hangs(make_api: MakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    released = Event()
    vectors = WordVectors()
    api = make_api(None, vectors, embedding_timeout=0.01)
    api.add_claim("I live in Lisbon", auto_extract=False)
    monkeypatch.setattr(vectors, "embed", lambda texts: released.wait(60))
    try:
        similar = find_similar_to_each(
            ["I live in Lisbon.", *(f"I have {count} cats" for count in range(2, 40))],
            search=api.search_strategy,
            llm=api.llm,
        )
    finally:
        released.set()
    assert [one.kind for one in similar[0]] == ["duplicate"]
    assert "did not answer in time" in api.llm.take_warnings()[0]


def test_what_holds_no_more_and_what_is_another_s_is_not_similar(api: StructuredAPI, make_api: MakeApi) -> None:
    api.delete_claim(api.add_claim("I live in Lisbon", auto_extract=False).object_id or "")
    make_api(user_email=BEN).add_claim("I live in Lisbon", auto_extract=False)
    assert find_similar("I live in Lisbon", search=api.search_strategy, llm=api.llm) == []
    assert find_similar(" ", search=api.search_strategy, llm=api.llm) == []
