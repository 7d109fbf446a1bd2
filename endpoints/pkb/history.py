"""Conflicts between claims, the history of changes with undo, export and import."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint, Response

from endpoints.http.models import shape
from endpoints.http.responses import json_reply, warned
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.serving.work_queues import Work, works

from . import requests, responses
from .common import audit_reference, described_conflicts, knowledge, unwrap

blueprint = Blueprint("pkb_keeping", __name__, url_prefix="/pkb")


@blueprint.get("/conflicts")
@answers(shape(conflicts=list[responses.ConflictItem]))
def list_conflicts() -> object:
    """Unresolved conflicts, newest first."""
    api = knowledge()
    return {"conflicts": described_conflicts(api, unwrap(api.get_open_conflicts()))}


@blueprint.post("/conflicts")
@takes(requests.ConflictDraft)
@answers(shape(responses.Changed, conflict=responses.ConflictItem), status=HTTPStatus.CREATED)
@fails("claim_not_found", "conflict")
def create_conflict(body: requests.ConflictDraft) -> object:
    """Record that claims contradict each other."""
    api = knowledge()
    created = api.create_conflict_set(body.claim_ids, body.notes)
    conflict = described_conflicts(api, [unwrap(created)])[0]
    return {"conflict": conflict, **audit_reference(created)}


@blueprint.post("/conflicts/<conflict_id>/resolve")
@takes(requests.Decision)
@answers(shape(responses.Changed, conflict=responses.ConflictItem))
@fails("claim_not_found", "conflict")
def resolve_conflict(conflict_id: str, body: requests.Decision) -> object:
    """Resolve a conflict; the winner supersedes the others, without a winner all stay."""
    api = knowledge()
    resolved = api.resolve_conflict_set(conflict_id, body.notes, winning_claim_id=body.winning_claim_id)
    return {"conflict": described_conflicts(api, [unwrap(resolved)])[0], **audit_reference(resolved)}


@blueprint.get("/audit")
@asks(requests.HistoryPage)
@answers(shape(entries=list[responses.HistoryItem]))
def list_changes(query: requests.HistoryPage) -> object:
    """The history of changes, newest first."""
    log = unwrap(knowledge().get_audit_log(limit=query.limit, before=query.before))
    entries = [{**entry, "can_undo": entry["undone_by"] is None} for entry in log["entries"]]
    return {"entries": entries}


@blueprint.post("/undo/<audit_id>")
@answers(shape(undone=str, audit_id=str))
@fails("conflict")
@works(Work.LONG)
def undo(audit_id: str) -> object:
    """Undo a change; 409 if anything it touched was changed since. An undo can be undone too."""
    undone = unwrap(knowledge().undo(audit_id))
    return {"undone": audit_id, "audit_id": undone}


@blueprint.get("/export")
@asks(requests.ExportFormat)
@answers(dict[str, object], media=("application/json", "text/markdown"))
@works(Work.LONG)
def export(query: requests.ExportFormat) -> Response:
    """The whole knowledge base of the user, as a file."""
    api = knowledge()
    if query.format == "markdown":
        answer = Response(unwrap(api.export_markdown()), mimetype="text/markdown")
        answer.headers["Content-Disposition"] = 'attachment; filename="memories.md"'
    else:
        answer = json_reply(unwrap(api.export_data()))
        answer.headers["Content-Disposition"] = 'attachment; filename="memories.json"'
    return answer


@blueprint.post("/import")
@takes(requests.Payload)
@answers(responses.Imported)
@works(Work.LONG)
def take_in(body: requests.Payload) -> object:
    """Import an export; importing it twice adds nothing. `renamed`: things that have another readable id here."""
    imported = knowledge().import_data(body.payload, body.mode)
    counts = unwrap(imported)
    told = {name: imported.metadata[name] for name in ("skipped", "renamed")}
    return {"counts": counts, **told, **warned(imported.warnings), **audit_reference(imported)}
