"""Your documents: the tree, single documents with their links, what a link leads to, the graph."""

from __future__ import annotations

from dataclasses import asdict
from http import HTTPStatus
from typing import Annotated, Any

from flask import Blueprint
from pydantic import Field

from database.history.documents import messages_using
from database.jobs import add_job
from endpoints.http.errors import InvalidRequestError, code_of
from endpoints.http.models import LARGEST_NUMBER, Body, Query, Shape, Text
from endpoints.http.responses import json_reply
from endpoints.http.scope import current_request, current_state, current_user_email, current_user_scope
from endpoints.http.validation import answers, asks, fails, takes, takes_files
from endpoints.serving.work_queues import Work, works
from vault.documents import Document, Vault
from vault.graph import graph_of
from vault.importing import import_files, packed_files
from vault.upkeep import JOB

Path = Annotated[Text, Field(min_length=1, max_length=1_500)]


class DocumentsQuery(Query):
    """Which documents: `query`: a part of a name. `folder`: below it. `cursor`: the `next` of the page before.

    `in_text`: also those whose text answers the query, by words and meaning, as `in_text` of the answer.
    """

    query: Annotated[Text, Field(max_length=200)] = ""
    folder: Annotated[Text, Field(max_length=1_500)] = ""
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100
    cursor: Annotated[Text, Field(max_length=1_500)] = ""
    in_text: bool = False


class PathQuery(Query):
    """`path`: relative to the vault."""

    path: Path


class LinkQuery(Query):
    """`link`: a wikilink, with or without its brackets."""

    link: Annotated[Text, Field(min_length=1, max_length=1_000)]


class DocumentBody(Body):
    """The whole text of a document."""

    text: Annotated[Text, Field(max_length=2 * 1024 * 1024)]


class RenameBody(Body):
    """A document's path, and the one that it gets."""

    path: Path
    new_path: Path


class IndexBody(Body):
    """full: whether files that seem unchanged are read too."""

    full: bool = False


class RenamedDocument(Shape):
    """Where the document is now, and the documents whose links were changed to follow it."""

    path: str
    version: str
    followed: list[str]


class DeletedDocument(Shape):
    """Where the document lies in the vault's bin, a hidden folder of it."""

    kept_at: str


class BinQuery(Query):
    """How many documents of the bin, the latest first."""

    limit: Annotated[int, Field(ge=1, le=1_000)] = 100


class BinnedDocument(Shape):
    """A deleted document. `kept_at`: names it where it is restored. `path`: where it lay. `deleted_at`: ISO 8601."""

    kept_at: str
    path: str
    deleted_at: str
    size: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]


class DocumentBin(Shape):
    """The bin of the vault: the latest deleted documents, and how many there are in all."""

    documents: list[BinnedDocument]
    total: int


class RestoreBody(Body):
    """A document of the bin, as `kept_at` names it."""

    kept_at: Annotated[Text, Field(min_length=1, max_length=1_600)]


class RestoredDocument(Shape):
    """Where the document is again."""

    path: str
    version: str


class IndexJob(Shape):
    """The job that reads the files; `GET /events` tells its progress."""

    job_id: str


class ImportQuery(Query):
    """`folder`: of the vault, which takes the documents."""

    folder: Annotated[Text, Field(max_length=1_000)] = ""


class RefusedFile(Shape):
    """A file that was not imported, and why; without a path, why the rest was not. `code`: of the error."""

    path: str
    reason: str
    code: str


class ImportReport(Shape):
    """What became of each file: imported, there already with the same text, or refused."""

    imported: list[str]
    unchanged: list[str]
    refused: list[RefusedFile]


class DocumentEntry(Shape):
    """A document in a list. `modified`: ISO 8601 in UTC. `size`: in bytes."""

    path: str
    title: str
    modified: str
    size: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)]


class DocumentExcerpt(Shape):
    """The part of a document that answers a query best; its lines are 1-based, both ends included."""

    path: str
    title: str
    line_start: int
    line_end: int
    text: str


class DocumentPage(Shape):
    """Documents by path. `next`: the cursor of the next page; null on the last. `read_only`: nothing may be written.

    `in_text`: what was found in texts, best first, where that was asked for. `total`, `embedded`: how many documents
    are found by words, and how many by meaning too.
    """

    documents: list[DocumentEntry]
    in_text: list[DocumentExcerpt]
    next: str | None
    read_only: bool
    total: int
    embedded: int


class DocumentHeading(Shape):
    """A heading; its level is 1 to 6, its line 1-based."""

    level: int
    text: str
    line: int


class DocumentLink(Shape):
    """A link of a document. `source`: the document that holds it. `target`: null where it leads nowhere."""

    source: str
    source_title: str
    line: int
    wikilink: str
    target: str | None
    anchor: str | None
    ambiguous: bool


class DocumentUser(Shape):
    """A message that used a document. `via_tool`: the tool that brought it; null where the message links it."""

    message_id: str
    conversation_id: str
    conversation_friendly_id: str | None
    title: str
    message_short_hash: str | None
    sender: str
    model: str | None
    preview: str
    created_at: str
    reference_type: str
    via_tool: str | None


class DocumentText(Shape):
    """A document. `version` is also the ETag; replacing the document needs it in `If-Match`."""

    path: str
    title: str
    text: str
    front_matter: dict[str, Any]
    headings: list[DocumentHeading]
    version: str
    size: int
    links: list[DocumentLink]
    backlinks: list[DocumentLink]
    used_by: list[DocumentUser]
    read_only: bool


class LinkResolution(Shape):
    """What a link leads to. `path`: null where nothing has this name. `candidates`: all that it may mean."""

    path: str | None
    anchor: str | None
    alias: str | None
    ambiguous: bool
    candidates: list[str]


class GraphNode(Shape):
    """A document in the graph of links."""

    path: str
    title: str


class GraphEdge(Shape):
    """Links of `source` to `target`, and how many there are."""

    source: str
    target: str
    count: int


class DocumentGraph(Shape):
    """The documents and the links between them; links that lead nowhere; documents that no link joins to another."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    broken: list[DocumentLink]
    orphans: list[str]


class UsingMessage(Shape):
    """A message of a conversation that refers to a document."""

    message_id: str
    message_index: int
    message_short_hash: str | None
    sender: str


class ConversationDocument(Shape):
    """A document of a conversation. `title`: null where it is not there (any more). `messages`: newest first.

    `wikilink`: as the newest message has it. `used`: it was linked, read or cited, not only found.
    """

    wikilink: str
    relative_path: str | None
    title: str | None
    reference_type: str
    summary: str | None
    context_snippet: str | None
    anchor: str | None
    via_tool: str | None
    ambiguous: bool
    used: bool
    messages: list[UsingMessage]


class ConversationDocuments(Shape):
    """The documents of a conversation, the most used first. `suggestions`: others that may belong to it."""

    documents: list[ConversationDocument]
    suggestions: list[GraphNode]


blueprint = Blueprint("vault", __name__, url_prefix="/api/vault")
_MOST_IN_TEXT = 10
_FAILING = ("path_refused", "too_large", "vault_unavailable")


def current_vault() -> Vault:
    """The caller's vault."""
    return current_state().vaults.of(current_user_email())


@blueprint.get("/documents")
@works(Work.SEARCH)
@asks(DocumentsQuery)
@answers(DocumentPage)
def list_documents(query: DocumentsQuery) -> object:
    """Your documents by path: all, those below a folder, or those with `query` in their name, title or aliases.

    With `in_text`, also what answers the query in the texts of others.
    """
    vault = current_vault()
    page = vault.documents(query=query.query, folder=query.folder, limit=query.limit, cursor=query.cursor)
    progress = vault.progress()
    state = {"read_only": vault.read_only, "total": progress.documents, "embedded": progress.embedded}
    named = {entry.path for entry in page.documents}
    best = vault.find_documents(query.query, n=_MOST_IN_TEXT) if query.in_text and query.query.strip() else []
    shown = DocumentExcerpt.model_fields
    in_text = [{name: getattr(found, name) for name in shown} for found in best if found.path not in named]
    return {"documents": [asdict(entry) for entry in page.documents], "in_text": in_text, "next": page.next, **state}


@blueprint.get("/document")
@asks(PathQuery)
@answers(DocumentText)
@fails("document_not_found", *_FAILING)
def get_document(query: PathQuery) -> object:
    """One document: its text, front matter and headings, its links, the links to it, and the messages that used it."""
    vault = current_vault()
    return document_answer(vault, vault.read(query.path))


@blueprint.get("/resolve")
@asks(LinkQuery)
@answers(LinkResolution)
def resolve_link(query: LinkQuery) -> object:
    """What a wikilink leads to."""
    found = current_vault().resolve(query.link)
    return {**asdict(found), "candidates": list(found.candidates), "ambiguous": found.ambiguous}


@blueprint.get("/graph")
@works(Work.SEARCH)
@answers(DocumentGraph)
def get_graph() -> object:
    """All documents and the links between them, the links that lead nowhere, and the documents without any link."""
    return asdict(graph_of(current_vault()))


@blueprint.put("/document")
@works(Work.DOCUMENTS)
@takes(DocumentBody)
@asks(PathQuery)
@answers(DocumentText)
@fails("quota_exceeded", "conflict", "version_conflict", "version_missing", "vault_read_only", *_FAILING)
def put_document(body: DocumentBody, query: PathQuery) -> object:
    """Write a document: a new one without a header; `If-Match` has to name the version that is replaced.

    409 `conflict` where the path is that of a folder, or leads through a document.
    """
    vault = current_vault()
    return document_answer(vault, vault.write(query.path, body.text, version=_version()))


@blueprint.delete("/document")
@works(Work.DOCUMENTS)
@asks(PathQuery)
@answers(DeletedDocument)
@fails("document_not_found", "version_conflict", "vault_read_only", *_FAILING)
def delete_document(query: PathQuery) -> object:
    """Move a document into the vault's bin; with `If-Match`, only the version that it names."""
    return {"kept_at": current_vault().delete(query.path, version=_version())}


@blueprint.get("/bin")
@works(Work.SEARCH)
@asks(BinQuery)
@answers(DocumentBin)
def list_deleted_documents(query: BinQuery) -> object:
    """The documents in the vault's bin, the latest first."""
    deleted = current_vault().deleted()
    return {"documents": [asdict(each) for each in deleted[: query.limit]], "total": len(deleted)}


@blueprint.post("/restore")
@works(Work.DOCUMENTS)
@takes(RestoreBody)
@answers(RestoredDocument)
@fails("document_not_found", "conflict", "vault_read_only", *_FAILING)
def restore_document(body: RestoreBody) -> object:
    """Move a document out of the bin, back to where it lay; 409 `conflict` where another one has its path."""
    document = current_vault().restore(body.kept_at)
    return {"path": document.path, "version": document.version}


@blueprint.post("/rename")
@works(Work.DOCUMENTS)
@takes(RenameBody)
@answers(RenamedDocument)
@fails("document_not_found", "version_conflict", "conflict", "vault_read_only", *_FAILING)
def rename_document(body: RenameBody) -> object:
    """Rename or move a document; links to it follow. With `If-Match`, only the version that it names."""
    renamed = current_vault().rename(body.path, body.new_path, version=_version())
    now = renamed.document
    return {"path": now.path, "version": now.version, "followed": renamed.followed}


@blueprint.post("/index")
@takes(IndexBody, optional=True)
@answers(IndexJob, status=HTTPStatus.ACCEPTED)
def index_vault(body: IndexBody) -> object:
    """Read the files anew, behind: a job, whose progress counts documents."""
    current_vault()
    return {"job_id": add_job(**current_user_scope(), kind=JOB, state={"full": body.full})}


@blueprint.post("/import")
@works(Work.LONG)
@takes_files
@asks(ImportQuery)
@answers(ImportReport)
@fails("vault_read_only", *_FAILING)
def import_documents(query: ImportQuery) -> object:
    """Import Markdown files, and those in ZIP archives, from a form with `files`; no document is replaced."""
    uploads = [(upload.filename or "", upload.stream) for upload in current_request().files.getlist("files")]
    if not uploads:
        raise InvalidRequestError("Send the files as the field `files` of a form.")
    with packed_files(uploads) as files:
        report = import_files(current_vault(), files, folder=query.folder)
    refused = [{"path": path, "reason": why.message, "code": code_of(why)} for path, why in report.refused]
    return {"imported": report.imported, "unchanged": report.unchanged, "refused": refused}


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
