"""Your documents: the tree, single documents with their links, what a link leads to, the graph."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from flask import Blueprint

from database.history.documents import messages_using
from database.jobs import add_job
from endpoints.http.errors import InvalidRequestError, code_of
from endpoints.http.responses import json_reply
from endpoints.http.scope import current_request, current_state, current_user_email, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes, takes_files
from endpoints.serving.work_queues import Work, works
from vault.documents import Document, Vault, graph_of
from vault.importing import import_files, packed_files
from vault.upkeep import JOB

from . import models as vault_models

blueprint = Blueprint("vault", __name__, url_prefix="/api/vault")
_MOST_IN_TEXT = 10
_FAILING = ("path_refused", "too_large", "vault_unavailable")


def current_vault() -> Vault:
    """The caller's vault."""
    return current_state().vaults.of(current_user_email())


@blueprint.get("/documents")
@works(Work.SEARCH)
@asks(vault_models.DocumentsQuery)
@answers(vault_models.DocumentPage)
def list_documents(query: vault_models.DocumentsQuery) -> object:
    """Your documents by path: all, those below a folder, or those with `query` in their name, title or aliases.

    With `in_text`, also what answers the query in the texts of others.
    """
    vault = current_vault()
    page = vault.documents(query=query.query, folder=query.folder, limit=query.limit, cursor=query.cursor)
    progress = vault.progress()
    state = {"read_only": vault.read_only, "total": progress.documents, "embedded": progress.embedded}
    named = {entry.path for entry in page.documents}
    best = vault.find_documents(query.query, n=_MOST_IN_TEXT) if query.in_text and query.query.strip() else []
    shown = vault_models.DocumentExcerpt.model_fields
    in_text = [{name: getattr(found, name) for name in shown} for found in best if found.path not in named]
    return {"documents": [asdict(entry) for entry in page.documents], "in_text": in_text, "next": page.next, **state}


@blueprint.get("/document")
@asks(vault_models.PathQuery)
@answers(vault_models.DocumentText)
@fails("document_not_found", *_FAILING)
def get_document(query: vault_models.PathQuery) -> object:
    """One document: its text, front matter and headings, its links, the links to it, and the messages that used it."""
    vault = current_vault()
    return document_answer(vault, vault.read(query.path))


@blueprint.get("/resolve")
@asks(vault_models.LinkQuery)
@answers(vault_models.LinkResolution)
def resolve_link(query: vault_models.LinkQuery) -> object:
    """What a wikilink leads to; one with `./` or `../`, nowhere without the `path` of the document that holds it."""
    found = current_vault().resolve(query.link, source=query.path)
    return {**asdict(found), "candidates": list(found.candidates), "ambiguous": found.ambiguous}


@blueprint.get("/graph")
@works(Work.SEARCH)
@answers(vault_models.DocumentGraph)
def get_graph() -> object:
    """All documents and the links between them, the links that lead nowhere, and the documents without any link."""
    return asdict(graph_of(current_vault()))


@blueprint.put("/document")
@works(Work.DOCUMENTS)
@takes(vault_models.DocumentBody)
@asks(vault_models.PathQuery)
@answers(vault_models.DocumentText)
@fails("quota_exceeded", "conflict", "version_conflict", "version_missing", "vault_read_only", *_FAILING)
def put_document(body: vault_models.DocumentBody, query: vault_models.PathQuery) -> object:
    """Write a document: a new one without a header; `If-Match` has to name the version that is replaced.

    409 `conflict` where the path is that of a folder, or leads through a document.
    """
    vault = current_vault()
    return document_answer(vault, vault.write(query.path, body.text, version=_version()))


@blueprint.delete("/document")
@works(Work.DOCUMENTS)
@asks(vault_models.PathQuery)
@answers(vault_models.DeletedDocument)
@fails("document_not_found", "version_conflict", "vault_read_only", *_FAILING)
def delete_document(query: vault_models.PathQuery) -> object:
    """Move a document into the vault's bin; with `If-Match`, only the version that it names."""
    return {"kept_at": current_vault().delete(query.path, version=_version())}


@blueprint.get("/bin")
@works(Work.SEARCH)
@asks(vault_models.BinQuery)
@answers(vault_models.DocumentBin)
def list_deleted_documents(query: vault_models.BinQuery) -> object:
    """The documents in the vault's bin, the latest first."""
    deleted = current_vault().deleted()
    return {"documents": [asdict(each) for each in deleted[: query.limit]], "total": len(deleted)}


@blueprint.post("/restore")
@works(Work.DOCUMENTS)
@takes(vault_models.RestoreBody)
@answers(vault_models.RestoredDocument)
@fails("document_not_found", "conflict", "vault_read_only", *_FAILING)
def restore_document(body: vault_models.RestoreBody) -> object:
    """Move a document out of the bin, back to where it lay; 409 `conflict` where another one has its path."""
    document = current_vault().restore(body.kept_at)
    return {"path": document.path, "version": document.version}


@blueprint.post("/rename")
@works(Work.DOCUMENTS)
@takes(vault_models.RenameBody)
@answers(vault_models.RenamedDocument)
@fails("document_not_found", "version_conflict", "conflict", "vault_read_only", *_FAILING)
def rename_document(body: vault_models.RenameBody) -> object:
    """Rename or move a document; links to it follow. With `If-Match`, only the version that it names."""
    renamed = current_vault().rename(body.path, body.new_path, version=_version())
    now = renamed.document
    return {"path": now.path, "version": now.version, "followed": renamed.followed}


@blueprint.post("/index")
@takes(vault_models.IndexBody, optional=True)
@answers(vault_models.IndexJob, status=HTTPStatus.ACCEPTED)
def index_vault(body: vault_models.IndexBody) -> object:
    """Read the files anew, behind: a job, whose progress counts documents."""
    current_vault()
    return {"job_id": add_job(**current_user_scope(), kind=JOB, state={"full": body.full})}


@blueprint.post("/import")
@works(Work.LONG)
@takes_files
@asks(vault_models.ImportQuery)
@answers(vault_models.ImportReport)
@fails("vault_read_only", *_FAILING)
def import_documents(query: vault_models.ImportQuery) -> object:
    """Import Markdown files, and those in ZIP archives, from a form with `files`; no document is replaced."""
    uploads = [(upload.filename or "", upload.stream) for upload in current_request().files.getlist("files")]
    if not uploads:
        raise InvalidRequestError("Send the files as the field `files` of a form.")
    with packed_files(uploads) as files:
        report = import_files(current_vault(), files, folder=query.folder)
    refused = [{"path": path, "reason": why.message, "code": code_of(why)} for path, why in report.refused]
    told = {"imported": report.imported, "unchanged": report.unchanged, "passed_over": report.passed_over}
    return {**told, "refused": refused}


def _version() -> str | None:
    """The version that `If-Match` names; None without the header, for any, and for several."""
    given = current_request().if_match
    if not given or given.star_tag:
        return None
    tags = list(given.as_set())
    if len(tags) != 1:
        raise InvalidRequestError("If-Match names one version of the document.")
    return tags[0]


def document_answer(vault: Vault, document: Document) -> Any:
    """A document as it is answered, with its version as ETag."""
    response = json_reply(
        {
            "path": document.path,
            "title": document.title,
            "text": document.text,
            "front_matter": document.front_matter,
            "headings": [heading._asdict() for heading in document.headings],
            "version": document.version,
            "size": document.size,
            "links": [asdict(link) for link in vault.links_of(document)],
            "backlinks": [asdict(link) for link in vault.backlinks(document.path)],
            "used_by": messages_using(database=vault.database, user_email=vault.user_email, path=document.path),
            "read_only": vault.read_only,
        }
    )
    response.set_etag(document.version)
    return response
