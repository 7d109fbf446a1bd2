"""Importing history from elsewhere: a file is uploaded, looked at, started, watched and, if need be, taken back.

An import is a job that survives a restart. Its progress is told by `GET /events` as changes of the kind `import`.
`/jobs` is another name of `/imports`: imports are the jobs that people have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import orjson
from flask import Blueprint, Response

from database.imports.repository import ENDED, Import, State, change_state, delete_import, get_import, list_imports
from database.search.vectors import count_unembedded
from endpoints.attachments.uploads import IMPORT_QUOTA, largest_import, receive_upload, uploaded_name
from endpoints.http.models import Done
from endpoints.http.scope import current_settings, current_state, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes, takes_upload
from endpoints.serving.work_queues import Work, works
from portability.importers.registry import importers
from portability.imports.accepting import accept_file, discard_upload
from portability.imports.documents import documents_to_learn_from
from portability.imports.runner import FOLDER
from sentences import recognised, recognised_place, said

from . import models as import_models

blueprint = Blueprint("imports", __name__)
_LISTED = tuple(import_models.ImportItem.model_fields)


@blueprint.get("/imports/sources")
@answers(list[import_models.ImportSource])
def list_import_sources() -> object:
    """From where history can be imported, and in which files."""
    return [{"source": each.source, "title": each.title, "expects": each.expects} for each in importers()]


@blueprint.post("/import")
@works(Work.LONG)
@takes_upload(largest_import, quota=IMPORT_QUOTA, form=True)
@asks(import_models.UploadName)
@answers(import_models.ImportItem, status=HTTPStatus.CREATED)
@fails("import_form_unknown", "import_refused", "quota_exceeded")
def upload_import(query: import_models.UploadName) -> object:
    """Upload a file to import: the body, or a form with it.

    422 `import_form_unknown` for a file that no importer reads, `import_refused` for one that is damaged or empty. 507
    `quota_exceeded` where the files that wait to be imported would have more than ANAPHORA_IMPORT_QUOTA.

    The import counts what the file holds, and then is `ready`. `POST /imports/<import_id>/start` starts it; with
    `start`, all of it is imported at once.
    """
    settings, uploads = current_settings(), current_settings().data_dir / FOLDER
    with receive_upload(current_state().attachments, most=largest_import(settings)) as received:
        if received.stat().st_size > IMPORT_QUOTA.room(current_state(), current_user_scope()["user_email"]):
            raise IMPORT_QUOTA.error(current_state())
        name = query.name or uploaded_name() or "import"
        state: State = "running" if query.start else "counting"
        own: dict[str, Any] = {**current_user_scope(), "domain": "assistant"}
        return _item(accept_file(received, name=name, uploads=uploads, state=state, **own))


@blueprint.get("/imports")
@blueprint.get("/jobs")
@answers(list[import_models.ImportItem])
def show_imports() -> object:
    """Your imports, the newest first."""
    return [_item(each) for each in list_imports(**current_user_scope())]


@blueprint.get("/imports/<import_id>")
@blueprint.get("/jobs/<import_id>")
@answers(import_models.ImportDetails)
def show_import(import_id: str) -> object:
    """One import, with the conversations of its file to choose from."""
    return _details(get_import(**current_user_scope(), import_id=import_id))


@blueprint.delete("/imports/<import_id>")
@blueprint.delete("/jobs/<import_id>")
@answers(Done)
@fails("conflict")
def forget_import(import_id: str) -> None:
    """Forget an import that has ended or was not started; what it brought stays. 409 `conflict` otherwise."""
    which = delete_import(**current_user_scope(), import_id=import_id)
    discard_upload(which, uploads=current_settings().data_dir / FOLDER)


@blueprint.get("/imports/<import_id>/report")
@blueprint.get("/jobs/<import_id>/report")
@answers(import_models.ImportOutcome)
def download_import_report(import_id: str) -> Response:
    """What became of the conversations of the file, as a JSON file to keep."""
    which = get_import(**current_user_scope(), import_id=import_id)
    names = ("file_name", "source", "state", "imported", "updated", "skipped", "error", "created_at")
    report: dict[str, Any] = {name: getattr(which, name) for name in names}
    report |= {"failed_count": which.failed, "failed": _told(which.failures), "kept": _told(which.kept)}
    report["updated_at"] = which.updated_at
    response = Response(orjson.dumps(report, option=orjson.OPT_INDENT_2), mimetype="application/json")
    name = quote(f"import report {which.created_at[:10]}.json")
    response.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{name}"
    return response


@blueprint.post("/imports/<import_id>/start")
@blueprint.post("/jobs/<import_id>/start")
@takes(import_models.Choice, optional=True)
@answers(import_models.ImportItem)
@fails("conflict", "workspace_not_found")
def start_import(import_id: str, body: import_models.Choice) -> object:
    """Start an import, also while its file is still counted. 409 `conflict` where it was started before."""
    return _changed(import_id, "running", {"ready", "counting"}, choice=body.model_dump())


@blueprint.post("/imports/<import_id>/pause")
@blueprint.post("/jobs/<import_id>/pause")
@answers(import_models.ImportItem)
@fails("conflict")
def pause_import(import_id: str) -> object:
    """Stop an import for a while. 409 `conflict` unless it is `running`."""
    return _changed(import_id, "paused", {"running"})


@blueprint.post("/imports/<import_id>/resume")
@blueprint.post("/jobs/<import_id>/resume")
@answers(import_models.ImportItem)
@fails("conflict")
def resume_import(import_id: str) -> object:
    """Let a paused import go on where it was. 409 `conflict` unless it is `paused`."""
    return _changed(import_id, "running", {"paused"})


@blueprint.post("/imports/<import_id>/cancel")
@blueprint.post("/jobs/<import_id>/cancel")
@answers(import_models.ImportItem)
@fails("conflict")
def cancel_import(import_id: str) -> object:
    """End an import; what it has stored stays. 409 `conflict` where it has ended."""
    scope = current_user_scope()
    among: set[State] = {"counting", "ready", "running", "paused"}
    which = change_state(**scope, import_id=import_id, state="cancelled", among=among)
    discard_upload(which, uploads=current_settings().data_dir / FOLDER)
    return _item(which)


@blueprint.post("/imports/<import_id>/undo")
@blueprint.post("/jobs/<import_id>/undo")
@answers(import_models.ImportItem)
@fails("conflict")
def undo_import(import_id: str) -> object:
    """Take back what an import brought and changed, but for what you went on with or changed since: the report says so.

    409 `conflict` unless the import has ended.
    """
    return _changed(import_id, "undoing", ENDED - {"undone"})


def _changed(import_id: str, state: State, among: frozenset[State] | set[State], **values: Any) -> dict[str, Any]:
    scope = current_user_scope()
    return _item(change_state(**scope, import_id=import_id, state=state, among=among, **values))


def _details(which: Import) -> dict[str, Any]:
    return {
        **_item(which),
        "vectors_left": _vectors_left(),
        "to_learn_from": documents_to_learn_from(which, vaults=current_state().vaults),
        "titles": [{"created_at": None, **each} for each in which.titles],
        "failures": _told(which.failures),
        "kept": _told(which.kept),
    }


def _vectors_left() -> int | None:
    model = current_state().vectors.configured_model()
    return None if model is None else count_unembedded(**current_user_scope())


def _told(reasons: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Places and reasons as they are stored, in English, with what they say in other languages."""
    told = []
    for each in reasons:
        item_said = said(recognised_place(each["item"]))
        told.append({**each, "said": said(recognised(each["reason"])), "item_said": item_said})
    return told


def _item(which: Import) -> dict[str, Any]:
    fields = {name: value for name, value in asdict(which).items() if name in _LISTED}
    speed = which.done / (which.worked_ms / 1_000) if which.worked_ms and which.done else None
    left = None
    if speed and which.counted and which.state == "running":
        left = max(which.messages - which.done, 0) / speed
    titles = {each.source: each.title for each in importers()}
    error_said = said(recognised(which.error)) if which.error else []
    return {
        **fields,
        "job_id": which.import_id,
        "error_said": error_said,
        "source_title": titles.get(which.source, which.source),
        "messages_per_second": speed,
        "seconds_left": left,
    }
