"""What is asked by its meaning, of each kind alone, as completion behind "@" asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from flask import Flask

from chat.context.knowledge import EmbeddingUpkeep
from database.search.indexing import index_pending
from endpoints.http.scope import EXTENSION
from endpoints.search.models import SearchResults
from language_models.testing import Reply, ScriptedChatModel
from settings import Settings
from tests.endpoints.conftest import Person, running_app, told
from tests.search.thesaurus import Thesaurus

pytestmark = pytest.mark.contract


@pytest.fixture
def app(settings: Settings) -> Iterator[Flask]:
    """An application whose model knows words of like meaning."""
    model = ScriptedChatModel(replies=lambda _prompt: Reply("All right."))
    with running_app(settings, main=model, cheap=model, embedding=Thesaurus()) as application:
        yield application


@pytest.fixture
def prepared(app: Flask, ada: Person) -> None:
    """Memories and conversations, with their vectors."""
    for statement in ("My automobile is red", "My puppy is young", "I like tea"):
        ada.remember(statement)
    for title, text in (("Repairs of the vehicle", "The brakes squeak."), ("Evening walks", "With the puppy.")):
        here = ada.new_conversation()
        ada.put(f"/conversations/{here}/title", json={"title": title})
        ada.say(here, text)
    state = app.extensions[EXTENSION]
    index_pending(database=state.database)
    state.vectors.embed_pending()
    EmbeddingUpkeep(state.knowledge).embed_pending()


def found(person: Person, q: str, kind: str, mode: str = "meaning") -> list[str]:
    results = told(person.get("/search", query_string={"q": q, "kind": kind, "mode": mode}), SearchResults).results
    return [each.snippet for each in results]


@pytest.mark.usefixtures("prepared")
def test_two_words_find_the_conversations_and_memories_that_mean_them_and_no_others(ada: Person) -> None:
    assert found(ada, "car colour", "conversation") == ["Repairs of the vehicle"]
    assert found(ada, "car colour", "memory") == ["My automobile is red"]
    for mode in ("auto", "meaning"):
        assert found(ada, "weather tomorrow", "memory", mode) == []
    assert found(ada, "weather tomorrow", "conversation") == []
    assert ada.get("/conversations/autocomplete?q=car+colour").json == []
    assert ada.get("/pkb/autocomplete?q=car+colour").json["memories"] == []


@pytest.mark.usefixtures("prepared")
def test_words_that_are_quoted_are_no_meaning(ada: Person) -> None:
    for kind in ("conversation", "memory"):
        assert found(ada, '"car colour"', kind, mode="auto") == []
        assert found(ada, "car colour", kind, mode="words") == []


@pytest.mark.usefixtures("prepared")
def test_nobody_finds_by_meaning_what_belongs_to_others(person: Callable[[str], Person]) -> None:
    bob = person("bob@example.org")
    for kind in ("conversation", "memory", "message"):
        assert found(bob, "car colour", kind) == []
