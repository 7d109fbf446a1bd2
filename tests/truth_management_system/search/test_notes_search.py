"""Finding notes by their words."""

from __future__ import annotations

from tests.truth_management_system.search.conftest import ANN, Person
from truth_management_system.database import PKBDatabase
from truth_management_system.models import Note
from truth_management_system.search.notes_search import search_notes


def titles(db: PKBDatabase, query: str, **wanted: object) -> list[str | None]:
    return [note.title for note, _ in search_notes(db, ANN, query, **wanted)]


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
