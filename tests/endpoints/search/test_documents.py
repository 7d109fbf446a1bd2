"""The search of everything finds documents: one's own, page by page, with the link to each; by words and by meaning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from endpoints.http.scope import EXTENSION, AppState
from endpoints.search.models import DocumentResult, SearchResults
from language_models.errors import ModelUnavailableError
from search.meaning import MessageVectors
from tests.endpoints.conftest import Person, told
from tests.search.thesaurus import Thesaurus
from vault.documents import Vaults
from vault.errors import VaultUnavailableError

HOSTILE = "<img src=x onerror=alert(1)> and rye"


def put(person: Person, path: str, text: str) -> None:
    answer = person.put("/api/vault/document", query_string={"path": path}, json={"text": text})
    assert answer.status_code == 200, answer.get_data(as_text=True)


def search(person: Person, q: str, **more: Any) -> SearchResults:
    return told(person.get("/search", query_string={"q": q, **more}), SearchResults)


def found(person: Person, q: str, **more: Any) -> list[str]:
    """The paths of the documents that are found."""
    return [
        each.path for each in search(person, q, kind="document", **more).results if isinstance(each, DocumentResult)
    ]


def with_model(app: Flask, model: Thesaurus) -> AppState:
    """The server's parts, with an embedding model."""
    state: AppState = app.extensions[EXTENSION]
    own: dict[str, Any] = {"database": state.database}
    vectors, vaults = MessageVectors(**own, model=lambda: model), Vaults(**own, embedding=lambda: model)
    app.extensions[EXTENSION] = replace(state, vectors=vectors, vaults=vaults)
    return app.extensions[EXTENSION]


def test_a_document_is_found_by_its_name_without_diacritics_and_by_a_short_question(ada: Person) -> None:
    put(ada, "Köln.md", "Sourdough wants patience.")
    put(ada, "b.md", "What about the garden?")
    for q in ("koln", "Köln", "what about sourdough?", "and the sourdough"):
        assert found(ada, q) == ["Köln.md"]
    assert found(ada, "and the sourdough", mode="words") == []


def test_a_document_is_found_among_other_things_with_the_link_to_it(ada: Person) -> None:
    ada.say(ada.new_conversation(), "How long does a sourdough starter keep?")
    put(ada, "kitchen/bread.md", "# Bread\n\nSourdough wants patience.")
    document, message = search(ada, "sourdo").results
    assert isinstance(document, DocumentResult)
    assert (document.path, document.title, document.reference) == ("kitchen/bread.md", "Bread", "[[kitchen/bread.md]]")
    assert [document.snippet[slice(*place)] for place in document.ranges] == ["Sourdough"]
    listed = ada.get("/api/vault/documents").json["documents"]
    assert [document.modified] == [each["modified"] for each in listed]
    report = ada.get("/references/resolve", query_string={"ref": document.reference}).json
    assert report["status"] == "resolved"
    assert message.kind == "message"


def test_a_path_that_no_link_can_say_has_no_reference(ada: Person) -> None:
    for path in ("c#.md", "a|b.md", "[[x]] y.md"):
        put(ada, path, "zeppelin")
    assert {each.reference for each in search(ada, "zeppelin", kind="document").results} == {None}
    assert len(found(ada, "zeppelin")) == 3


@pytest.mark.parametrize("mode", ["auto", "words"])
def test_pages_follow_each_other_to_the_end(ada: Person, mode: str) -> None:
    for number in range(7):
        put(ada, f"{number}.md", f"rye {number}")
    seen, cursor = list[str | None](), None
    while True:
        page = search(ada, "rye", kind="document", mode=mode, limit=3, **({"cursor": cursor} if cursor else {}))
        seen += [result.reference for result in page.results]
        cursor = page.next
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 7
    assert [each.kind for each in search(ada, "rye").results] == ["document"] * 5


def test_times_narrow_documents_down_and_what_they_have_not_finds_none(ada: Person) -> None:
    put(ada, "a.md", "rye flour")
    assert found(ada, "rye", after="2020") == ["a.md"]
    assert found(ada, "rye before:2020") == []
    assert found(ada, "rye -flour") == []
    assert [each.kind for each in search(ada, "rye after:2020").results] == ["document"]
    assert search(ada, "rye sender:user").results == []
    answer = search(ada, "rye", kind="document", sender="user")
    assert (answer.results, [said.code for (said,) in answer.warnings_said or []]) == ([], ["filters_for_messages"])


def test_nobody_finds_what_belongs_to_others_nor_what_is_deleted(ada: Person, eve: Person) -> None:
    put(ada, "treasure.md", "It lies in Zanzibar.")
    put(eve, "mine.md", "Nothing.")
    for q in ("zanzibar", "treasure", "-nothing", "zanzibar after:2000", "zanzibar) OR (owner:*"):
        for mode in ("auto", "words", "meaning"):
            assert search(eve, q, mode=mode).results == []
            assert found(eve, q, mode=mode) == []
    assert found(ada, "zanzibar") == ["treasure.md"]
    ada.delete("/api/vault/document", query_string={"path": "treasure.md"})
    assert found(ada, "zanzibar") == found(ada, "treasure") == []


def test_markup_comes_as_text_with_places(ada: Person) -> None:
    put(ada, "a.md", HOSTILE)
    (document,) = search(ada, "rye onerror", kind="document").results
    assert document.snippet == HOSTILE
    assert [document.snippet[slice(*place)] for place in document.ranges] == ["onerror", "rye"]


def test_a_question_is_answered_by_what_documents_mean(app: Flask, ada: Person, eve: Person) -> None:
    state = with_model(app, Thesaurus())
    put(ada, "workshop.md", "# Workshop\n\nThe automobile needs new brakes.")
    put(ada, "garden.md", "# Garden\n\nWatered the roses.")
    assert state.vaults.vectors.embed_pending() == 2
    question = "Where did I leave the vehicle?"
    (document,) = search(ada, question, kind="document").results
    assert document.title == "Workshop"
    assert "automobile" in document.snippet
    assert found(ada, question, mode="words") == []
    assert found(ada, question, before="2020") == []
    assert found(ada, question, after="2020") == ["workshop.md"]
    assert found(eve, question) == found(eve, "vehicle", mode="meaning") == []
    # Keywords that find little are asked by meaning; what says one of them alone does not answer them.
    assert found(ada, "vehicle") == ["workshop.md"]
    assert found(ada, "roses zeppelin") == []
    assert found(ada, '"vehicle"') == found(ada, "vehicle -zeppelin") == []


def test_without_the_model_or_the_vault_words_still_count(
    app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Thesaurus()
    state = with_model(app, model)
    put(ada, "roses.md", "The roses were watered where they stand.")
    asked = list[int]()

    def fail(texts: list[str]) -> None:
        asked.append(len(texts))
        raise ModelUnavailableError("Away.", model="thesaurus")

    def gone(_user_email: str) -> None:
        raise VaultUnavailableError("The folder of the vault can't be made.")

    monkeypatch.setattr(state.vaults, "of", gone)
    assert found(ada, "where the roses were watered") == ["roses.md"]
    monkeypatch.setattr(model, "embed", fail)
    answer = search(ada, "the roses were watered", kind="document")
    assert [each.title for each in answer.results] == ["roses"]
    assert (len(answer.warnings), len(asked)) == (1, 1)


def test_who_has_no_documents_gets_no_folder_and_asks_no_model(
    ada: Person, app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, asked = Thesaurus(), list[Any]()
    state = with_model(app, model)
    monkeypatch.setattr(model, "embed", asked.append)
    assert found(ada, "sourdough") == []
    assert asked == []
    assert not list(state.vaults.folder.glob("*"))
