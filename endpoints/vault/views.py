"""Your documents: the tree, single documents with their links, what a link leads to, the graph."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from flask import Blueprint

from endpoints.http.responses import json_reply
from endpoints.http.scope import current_state, current_user_email
from endpoints.http.validation import answers, asks, fails
from endpoints.http.work_queues import Work, works
from vault.documents import Document, Vault
from vault.graph import graph_of

from . import models as vault_models

blueprint = Blueprint("vault", __name__, url_prefix="/api/vault")


def current_vault() -> Vault:
    """The caller's vault."""
    return current_state().vaults.of(current_user_email())


@blueprint.get("/documents")
@asks(vault_models.DocumentsQuery)
@answers(vault_models.DocumentPage)
def list_documents(query: vault_models.DocumentsQuery) -> object:
    """Your documents by path: all, those below a folder, or those with `query` in their name, title or aliases."""
    vault = current_vault()
    page = vault.documents(query=query.query, folder=query.folder, limit=query.limit, cursor=query.cursor)
    progress = vault.progress()
    state = {"read_only": vault.read_only, "total": progress.documents, "embedded": progress.embedded}
    return {"documents": [asdict(entry) for entry in page.documents], "next": page.next, **state}


@blueprint.get("/document")
@asks(vault_models.PathQuery)
@answers(vault_models.DocumentText)
@fails("document_not_found", "too_large")
def get_document(query: vault_models.PathQuery) -> object:
    """One document: its text, front matter and headings, its links and the links to it."""
    vault = current_vault()
    return document_answer(vault, vault.read(query.path))


@blueprint.get("/resolve")
@asks(vault_models.LinkQuery)
@answers(vault_models.LinkResolution)
def resolve_link(query: vault_models.LinkQuery) -> object:
    """What a wikilink leads to."""
    found = current_vault().resolve(query.link)
    return {**asdict(found), "candidates": list(found.candidates), "ambiguous": found.ambiguous}


@blueprint.get("/graph")
@works(Work.SEARCH)
@answers(vault_models.DocumentGraph)
def get_graph() -> object:
    """All documents and the links between them, the links that lead nowhere, and the documents without any link."""
    return asdict(graph_of(current_vault()))


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
            "read_only": vault.read_only,
        }
    )
    response.set_etag(document.version)
    return response
