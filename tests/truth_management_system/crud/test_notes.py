"""Notes: longer text beside the claims."""

from __future__ import annotations

import pytest

from tests.truth_management_system.crud.conftest import Person
from truth_management_system.errors import InvalidKnowledgeError
from truth_management_system.models import Note

pytestmark = pytest.mark.contract


def test_a_note_is_stored_as_it_was_written(ann: Person) -> None:
    note = ann.notes.add(Note.create("Line one\n\n  line two", "Title", context_domain="Life ops"))
    assert ann.notes.get(note.note_id) == note
    assert (note.body, note.title, note.context_domain) == ("Line one\n\n  line two", "Title", "life_ops")


def test_an_edit_changes_what_is_given(ann: Person) -> None:
    note = ann.note("First", "Title")
    edited = ann.notes.edit(note.note_id, {"body": "Second", "title": ""})
    assert edited is not None
    assert (edited.body, edited.title, edited.created_at) == ("Second", None, note.created_at)
    assert (ann.last_change()["action"], ann.last_change()["title"]) == ("edit", "Title")
    assert ann.notes.edit("nothing", {"body": "x"}) is None


@pytest.mark.parametrize("changes", [{"note_id": "x"}, {"body": ""}, {"body": None}, {"meta_json": "[]"}, {"title": 5}])
def test_a_senseless_edit_is_refused(ann: Person, changes: dict[str, object]) -> None:
    note = ann.note()
    with pytest.raises(InvalidKnowledgeError):
        ann.notes.edit(note.note_id, changes)
    assert ann.notes.get(note.note_id) == note


def test_a_deleted_note_is_gone(ann: Person) -> None:
    note = ann.note("Something long\nand more")
    assert ann.notes.delete(note.note_id) is True
    assert ann.notes.get(note.note_id) is None
    assert ann.notes.delete(note.note_id) is False
    assert (ann.last_change()["action"], ann.last_change()["title"]) == ("delete", "Something long and more")


def test_notes_are_listed_newest_change_first(ann: Person) -> None:
    notes = [ann.note(str(number)) for number in range(3)]
    ann.notes.edit(notes[0].note_id, {"body": "changed"})
    assert [note.body for note in ann.notes.list()] == ["changed", "2", "1"]
    assert [note.body for note in ann.notes.list(limit=1, offset=1)] == ["2"]
    assert ann.notes.count() == 3
