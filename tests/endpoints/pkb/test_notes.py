"""Notes over HTTP: kept, listed, found, changed, deleted, and only the person's own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.endpoints.conftest import Person, refused, told
from tests.endpoints.pkb import responses

pytestmark = pytest.mark.contract

NOWHERE = "00000000-0000-4000-8000-000000000000"


def kept(person: Person, body: str, **fields: Any) -> responses.NoteItem:
    """A new note."""
    answer = person.post("/pkb/notes", json={"body": body, **fields})
    return told(answer, responses.ChangedNote, status=201).note


def listed(person: Person, **query: Any) -> tuple[list[str], int]:
    """The bodies of a page of notes, and how many there are."""
    page = told(person.get("/pkb/notes", query_string=query), responses.NotePage)
    return [note.body for note in page.notes], page.total_count


def test_a_note_is_kept_as_it_was_written(ada: Person) -> None:
    note = kept(ada, "Beds, paths\nand a pond", title="Garden", context_domain="personal")
    assert (note.title, note.body, note.context_domain) == ("Garden", "Beds, paths\nand a pond", "personal")
    assert told(ada.get(f"/pkb/notes/{note.note_id}"), responses.OneNote).note == note
    assert kept(ada, "Untitled").title is None


def test_notes_are_listed_in_pages_newest_change_first(ada: Person) -> None:
    first, *_ = [kept(ada, f"Note {number}") for number in range(3)]
    told(ada.put(f"/pkb/notes/{first.note_id}", json={"title": "First"}), responses.ChangedNote)
    assert listed(ada) == (["Note 0", "Note 2", "Note 1"], 3)
    assert listed(ada, limit=1, offset=1) == (["Note 2"], 3)


def test_notes_are_found_by_their_words(ada: Person) -> None:
    for body in ("Where the roses grow", "How roses are cut", "What the pond costs"):
        kept(ada, body)
    assert (set(listed(ada, q="rose")[0]), listed(ada, q="rose")[1]) == (
        {"Where the roses grow", "How roses are cut"},
        2,
    )
    ranked = listed(ada, q="roses")[0]
    assert listed(ada, q="roses", limit=1, offset=1) == (ranked[1:], 2)
    assert listed(ada, q='"pond" AND (') == (["What the pond costs"], 1)


def test_each_field_of_a_note_is_changed_alone(ada: Person) -> None:
    note = kept(ada, "Beds", title="Garden", context_domain="personal")
    address = f"/pkb/notes/{note.note_id}"
    changed = told(ada.put(address, json={"body": "Beds and paths"}), responses.ChangedNote)
    assert (changed.note.title, changed.note.body) == ("Garden", "Beds and paths")
    assert told(ada.put(address, json={"body": "Beds and paths"}), responses.ChangedNote).audit_id is None
    without = told(ada.put(address, json={"title": None, "context_domain": None}), responses.ChangedNote).note
    assert (without.title, without.context_domain, without.body) == (None, None, "Beds and paths")


def test_every_change_of_a_note_can_be_undone(ada: Person) -> None:
    note = kept(ada, "Beds")
    deleted = told(ada.delete(f"/pkb/notes/{note.note_id}"), responses.Changed)
    assert refused(ada.get(f"/pkb/notes/{note.note_id}")) == (404, "note_not_found")
    newest = told(ada.get("/pkb/audit?limit=1"), responses.History).entries[0]
    assert (newest.action, newest.object_type, newest.title) == ("delete", "note", "Beds")
    told(ada.post(f"/pkb/undo/{deleted.audit_id}"), responses.Undone)
    assert told(ada.get(f"/pkb/notes/{note.note_id}"), responses.OneNote).note == note


def test_a_note_of_somebody_else_is_neither_seen_nor_changed(ada: Person, eve: Person) -> None:
    note = kept(ada, "The roses of Ada")
    address = f"/pkb/notes/{note.note_id}"
    for answer in (eve.get(address), eve.put(address, json={"body": "Of Eve"}), eve.delete(address)):
        assert refused(answer) == (404, "note_not_found")
    assert (listed(eve), listed(eve, q="roses")) == (([], 0), ([], 0))
    assert told(ada.get(address), responses.OneNote).note == note


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"body": ""},
        {"body": " "},
        {"body": "x" * 200_001},
        {"body": 5},
        {"body": "x", "title": "x" * 501},
        {"body": "x", "context_domain": "!"},
        {"body": "x", "owner": "eve@example.org"},
    ],
)
def test_a_note_that_is_none_is_refused(body: dict[str, Any], ada: Person) -> None:
    assert refused(ada.post("/pkb/notes", json=body)) == (400, "bad_request")
    assert listed(ada) == ([], 0)


@pytest.mark.parametrize("query", [{"limit": 0}, {"limit": 201}, {"offset": -1}, {"q": "x" * 2_001}, {"tag": "x"}])
def test_a_list_that_can_not_be_is_refused(query: dict[str, Any], ada: Person) -> None:
    assert refused(ada.get("/pkb/notes", query_string=query)) == (400, "bad_request")


def test_a_change_needs_a_note_and_makes_one(ada: Person) -> None:
    note = kept(ada, "Beds")
    for change in ({"body": None}, {"body": ""}, {"meta": 1}):
        assert refused(ada.put(f"/pkb/notes/{note.note_id}", json=change)) == (400, "bad_request")
    assert refused(ada.put(f"/pkb/notes/{NOWHERE}", json={"body": "x"})) == (404, "note_not_found")
    assert refused(ada.delete(f"/pkb/notes/{NOWHERE}")) == (404, "note_not_found")
