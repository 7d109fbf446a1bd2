"""Finding what to refer to, asking what a reference means, and who refers to a message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from flask import Blueprint

from chat.context import kinds
from chat.context.gather import resolve_report, stored_scope
from chat.exchange.files import AttachedFiles
from chat.turns.accept import chosen_model
from conversation_reference_utils import read_reference
from database.conversations import repository as conversations
from database.engine.errors import ConversationNotFoundError
from database.history import reading, references
from database.history.attachments import files_of_each
from database.messages.message import MessageRow, MessageText
from endpoints.http.errors import InvalidRequestError
from endpoints.http.scope import (
    allowed_models,
    conversation_loader,
    current_state,
    current_user_email,
    current_user_scope,
)
from endpoints.http.validation import answers, asks
from language_models.ports import ChatModel
from search.messages import search_conversation
from search.query import parse_query
from search.ranking import Phrases, holds, snippet
from search.things import conversations as conversation_search
from search.things.files import messages_with_files

from . import models as reference_models

blueprint = Blueprint("references", __name__)
_PREVIEW_CHARACTERS = 200


@blueprint.get("/conversations/autocomplete")
@asks(reference_models.ConversationSearch)
@answers(list[reference_models.ConversationHit])
def autocomplete_conversations(query: reference_models.ConversationSearch) -> object:
    """Conversations whose friendly id begins with `q`, then those whose title has its words."""
    return conversation_search.autocomplete_conversations(**current_user_scope(), **query.model_dump())


@blueprint.get("/conversations/<friendly_id>/messages")
@asks(reference_models.MessageSearch)
@answers(list[reference_models.MessageHit])
def find_messages(friendly_id: str, query: reference_models.MessageSearch) -> object:
    """Messages of a conversation to refer to: the newest first, or those that `q` finds, in their files too.

    `preview`: how each begins, or where it says what is sought.
    """
    conversation_id = _conversation_of(friendly_id)
    rows: Sequence[tuple[MessageRow | MessageText, str | None]]
    phrases = parse_query(query.q).phrases
    if query.q.strip():
        here: dict[str, Any] = {
            **current_user_scope(),
            "conversation_id": conversation_id,
            "q": query.q,
            "limit": query.limit,
        }
        found = {row.seq: row for row in (*search_conversation(**here), *messages_with_files(**here))}
        rows = [(row, row.config.get("model")) for row in list(found.values())[: query.limit]]
    else:
        newest = reading.last_messages(**current_user_scope(), conversation_id=conversation_id, count=query.limit)[::-1]
        rows = [(row, row.model) for row in newest]
    message_ids = [row.message_id for row, _ in rows]
    files = files_of_each(**current_user_scope(), conversation_id=conversation_id, message_ids=message_ids)
    return [
        {
            "index": row.index,
            "message_short_hash": row.message_short_hash,
            "sender": row.sender,
            "model": model,
            "preview": _preview(row.text, phrases),
            "files": [{"number": part["id"], "name": part.get("name", "")} for part in files.get(row.message_id, ())],
        }
        for row, model in rows
    ]


def _preview(text: str, phrases: Phrases) -> str:
    """How a message begins, or where it says what was sought."""
    if not any(holds(text, [phrase], beginning=True) for phrase in phrases):
        return text[:_PREVIEW_CHARACTERS]
    return snippet(text, phrases, beginning=True).text


@blueprint.get("/references/resolve")
@asks(reference_models.ReferenceQuestion)
@answers(reference_models.ResolvedItem)
def resolve_reference(query: reference_models.ReferenceQuestion) -> object:
    """What a reference stands for, as the report of a message would say it, with its icon and where it leads."""
    named = read_reference(query.ref)
    if not any((*named.friendly_ids, *named.claim_ids)):
        raise InvalidRequestError("ref: behind the @ there has to be a name.")
    report = resolve_report(
        named.friendly_ids,
        claim_ids=named.claim_ids,
        **current_user_scope(),
        loader=conversation_loader(current_user_email()),
        services=current_state().services,
        here=query.conversation_id,
        room=AttachedFiles().room_for_pictures(partial(_models_of, query.conversation_id)),
    )
    return kinds.shown(report[0])


@blueprint.get("/references/suggest")
@asks(reference_models.SuggestionSearch)
@answers(list[reference_models.Suggestion])
def suggest_references(query: reference_models.SuggestionSearch) -> object:
    """What `q` may be the beginning of, for completion behind an "@": at most `limit` things of each kind.

    Documents are offered where `q` begins with two brackets, activities and numbers of memories where with a "#".
    """
    scope = stored_scope(
        current_user_email(),
        database=current_state().database,
        loader=conversation_loader(current_user_email()),
        services=current_state().services,
        here=query.conversation_id,
    )
    return kinds.suggest(query.q, scope, limit=query.limit, without=query.without.split(","))


@blueprint.get("/messages/<message_id>/backlinks")
@answers(list[reference_models.Backlink])
def list_backlinks(message_id: str) -> object:
    """The messages that refer to this one."""
    return references.backlinks(**current_user_scope(), message_id=message_id)


@blueprint.get("/conversations/<conversation_id>/backlinks")
@answers(list[reference_models.Backlink])
def list_backlinks_of_conversation(conversation_id: str) -> object:
    """The messages that refer to the whole conversation, or to a range of its messages."""
    return references.backlinks_of_conversation(**current_user_scope(), conversation_id=conversation_id)


def _models_of(conversation_id: str | None) -> list[ChatModel]:
    """The model that would answer in this conversation, or in a new one, unless the message names agents."""
    services = replace(current_state().services, models=allowed_models())
    try:
        found = conversation_id and conversations.get_conversation(
            **current_user_scope(), conversation_id=conversation_id
        )
    except ConversationNotFoundError:
        found = None
    return [chosen_model({}, found.settings if found else None, services=services).model]


def _conversation_of(friendly_id: str) -> str:
    found = conversations.find_by_friendly_id(**current_user_scope(), conversation_friendly_id=friendly_id.lower())
    if found is None:
        raise ConversationNotFoundError
    return found
