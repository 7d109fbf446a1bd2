"""Notes: longer texts that are kept beside the claims."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint

from endpoints.http.models import shape
from endpoints.http.responses import warned
from endpoints.http.validation import answers, asks, takes
from endpoints.pkb import requests, responses
from endpoints.pkb.common import audit_reference, knowledge, unwrap, work_of_note_list
from endpoints.serving.work_queues import works
from truth_management_system import Note

blueprint = Blueprint("pkb_notes", __name__, url_prefix="/pkb")
_MOST_FOUND = 200


@blueprint.get("/notes")
@asks(requests.NoteFilter)
@answers(responses.NotePage)
@works(work_of_note_list)
def list_notes(query: requests.NoteFilter) -> object:
    """Notes, newest change first; with `q` those that a search finds, best first, 200 at most."""
    api = knowledge()
    if not query.q.strip():
        notes = api.notes.list(limit=query.limit, offset=query.offset)
        return {"notes": _described(notes), "total_count": api.notes.count(), **warned([])}
    found = api.search_notes(query.q, k=_MOST_FOUND)
    ranked = [note for note, _ in unwrap(found)]
    notes = ranked[query.offset : query.offset + query.limit]
    return {"notes": _described(notes), "total_count": len(ranked), **warned(found.warnings)}


@blueprint.post("/notes")
@takes(requests.NoteDraft)
@answers(shape(responses.Changed, note=responses.NoteItem), status=HTTPStatus.CREATED)
def add_note(body: requests.NoteDraft) -> object:
    """A new note."""
    added = knowledge().add_note(**body.model_dump())
    return {"note": _described([unwrap(added)])[0], **audit_reference(added)}


@blueprint.get("/notes/<note_id>")
@answers(shape(note=responses.NoteItem))
def get_note(note_id: str) -> object:
    """One note."""
    return {"note": _described([unwrap(knowledge().get_note(note_id))])[0]}


@blueprint.put("/notes/<note_id>")
@takes(requests.NoteChange)
@answers(shape(responses.Changed, note=responses.NoteItem))
def edit_note(note_id: str, body: requests.NoteChange) -> object:
    """Change a note."""
    edited = knowledge().edit_note(note_id, **body.model_dump(exclude_unset=True))
    return {"note": _described([unwrap(edited)])[0], **audit_reference(edited)}


@blueprint.delete("/notes/<note_id>")
@answers(responses.Changed)
def delete_note(note_id: str) -> object:
    """Delete a note; undoing the change brings it back."""
    return audit_reference(knowledge().delete_note(note_id))


def _described(notes: list[Note]) -> list[dict[str, object]]:
    return [{name: getattr(note, name) for name in responses.NoteItem.model_fields} for note in notes]
