"""The documents that a conversation rests on."""

from __future__ import annotations

import logging
from typing import Any

from flask import Blueprint

from database.conversations.repository import get_conversation
from database.history.documents import ConversationDocument, conversation_documents
from endpoints.http.scope import current_user_scope
from endpoints.http.validation import answers
from endpoints.serving.work_queues import Work, works
from vault.documents import Vault

from . import models as vault_models
from .views import current_vault

log = logging.getLogger(__name__)
blueprint = Blueprint("documents", __name__)
_SUGGESTED = 3


@blueprint.get("/conversations/<conversation_id>/documents")
@works(Work.SEARCH)
@answers(vault_models.ConversationDocuments)
def list_conversation_documents(conversation_id: str) -> object:
    """The documents that a conversation names or rests on, the most used first, and others that may belong to it."""
    found = conversation_documents(**current_user_scope(), conversation_id=conversation_id)
    vault = current_vault()
    paths = [each.reference["relative_path"] for each in found if each.reference["relative_path"]]
    known = vault.entries(paths)
    return {
        "documents": [_shown(each, title=_title(each, known)) for each in found],
        "suggestions": _suggested(vault, conversation_id, without=set(paths)),
    }


def _title(document: ConversationDocument, known: dict[str, Any]) -> str | None:
    entry = known.get(document.reference["relative_path"])
    return None if entry is None else str(entry.title)


def _shown(document: ConversationDocument, *, title: str | None) -> dict[str, Any]:
    """title: None for a document that is not there (any more)."""
    kind = "direct" if document.direct else "search"
    return {
        **document.reference,
        "reference_type": kind,
        "used": document.used,
        "title": title,
        "messages": document.messages,
    }


def _suggested(vault: Vault, conversation_id: str, *, without: set[str]) -> list[dict[str, str]]:
    """Documents near to what the conversation is about; none where they can't be searched now."""
    conversation = get_conversation(**current_user_scope(), conversation_id=conversation_id)
    about = f"{conversation.title}\n{conversation.running_summary[:500]}".strip()
    if not about:
        return []
    try:
        found = vault.find_documents(about, n=_SUGGESTED + len(without))
    except Exception:  # they are an offer, no part of what was asked for
        log.exception("no documents could be suggested")
        return []
    others = [excerpt for excerpt in found if excerpt.path not in without]
    return [{"path": excerpt.path, "title": excerpt.title} for excerpt in others[:_SUGGESTED]]
