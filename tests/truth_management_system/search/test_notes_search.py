"""Finding notes by their words and by what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Any

import pytest

from language_models.errors import ModelUnavailableError
from tests.truth_management_system.search.conftest import ANN, Person
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.database import PKBDatabase
from truth_management_system.models import Note
from truth_management_system.search.notes_search import NoteSearch
from truth_management_system.search.vectors import EmbeddingIndexer

pytestmark = pytest.mark.contract


def titles(db: PKBDatabase, query: str, *, model: WordVectors | None = None, **wanted: Any) -> list[str | None]:
    search = NoteSearch(db=db, user_email=ANN, model=model, within=60.0)
    return [note.title for note, _ in search.find(query, **wanted).pairs]


def test_notes_are_found_by_title_and_by_body_titles_first(db: PKBDatabase, ann: Person, ben: Person):
    ann.notes.add(Note.create("How the garden is watered", "Summer"))
    ann.notes.add(Note.create("Where everything grows", "Garden plan"))
    ben.notes.add(Note.create("The garden of Ben", "Garden"))
    assert titles(db, "gardens") == ["Garden plan", "Summer"]
    assert titles(db, "garden", k=1) == ["Garden plan"]


def test_notes_of_one_domain_can_be_searched_alone(db: PKBDatabase, ann: Person):
    ann.notes.add(Note.create("Budget of the garden", "Money", context_domain="finance"))
    ann.notes.add(Note.create("Beds of the garden", "Plants", context_domain="personal"))
    assert titles(db, "garden", context_domain="finance") == ["Money"]
    assert titles(db, "garden", context_domain="work") == []


def test_an_edited_note_is_found_by_its_new_words(db: PKBDatabase, ann: Person):
    note = ann.notes.add(Note.create("About coffee", "Drinks"))
    ann.notes.edit(note.note_id, {"body": "About tea"})
    assert titles(db, "coffee") == []
    assert titles(db, "tea") == ["Drinks"]


def test_any_text_is_a_query(db: PKBDatabase, ann: Person):
    ann.notes.add(Note.create("About tea", "Drinks"))
    assert titles(db, '"tea" AND (') == ["Drinks"]
    assert titles(db, "!!") == []


@pytest.fixture
def garage(ann: Person, ben: Person, model: WordVectors) -> None:
    """Notes with vectors."""
    ann.notes.add(Note.create("my car is red", "Garage", context_domain="life_ops"))
    ann.notes.add(Note.create("the doctor is kind", "Health", context_domain="health"))
    ben.notes.add(Note.create("his car is blue", "Garage of Ben"))
    assert EmbeddingIndexer(ann.db, model).index_pending() == 3


@pytest.mark.usefixtures("garage")
def test_what_means_the_same_is_found_too_and_what_words_find_as_well_comes_first(
    db: PKBDatabase, ann: Person, model: WordVectors
):
    assert titles(db, "automobile") == []
    assert titles(db, "automobile", model=model) == ["Garage"]
    assert titles(db, "automobile", model=model, context_domain="health") == []
    ann.notes.add(Note.create("an automobile club", "Club"))
    assert titles(db, "automobile", model=model) == ["Club", "Garage"]
    EmbeddingIndexer(db, model).index_pending()
    assert titles(db, "automobile", model=model, k=1) == ["Club"]


@pytest.mark.usefixtures("garage")
def test_an_edited_note_gets_a_new_vector(db: PKBDatabase, ann: Person, model: WordVectors):
    (note,) = [note for note in ann.notes.list() if note.title == "Garage"]
    ann.notes.edit(note.note_id, {"body": "my bicycle is red"})
    assert titles(db, "automobile", model=model) == []
    assert EmbeddingIndexer(db, model).index_pending() == 1
    assert titles(db, "automobile", model=model) == []
    ann.notes.edit(note.note_id, {"body": "my car is red", "context_domain": "work"})
    EmbeddingIndexer(db, model).index_pending()
    assert titles(db, "automobile", model=model, context_domain="work") == ["Garage"]


@pytest.mark.usefixtures("garage")
def test_where_the_model_fails_or_hangs_words_are_searched_and_that_is_said(
    db: PKBDatabase, model: WordVectors, monkeypatch: pytest.MonkeyPatch
):
    patient = NoteSearch(db=db, user_email=ANN, model=model, within=60.0)
    model.fails_with = ModelUnavailableError("It is being fetched: 40 %")
    failed = patient.find("car")
    assert ([note.title for note, _ in failed.pairs], "40 %" in failed.warnings[0]) == (["Garage"], True)
    released, hangs = Event(), WordVectors()

    def hanging(_: Sequence[str]) -> None:
        released.wait(60)

    monkeypatch.setattr(hangs, "embed", hanging)
    try:
        late = NoteSearch(db=db, user_email=ANN, model=hangs, within=0.01).find("car")
    finally:
        released.set()
    assert ([note.title for note, _ in late.pairs], "in time" in late.warnings[0]) == (["Garage"], True)
