"""Finding anything of one's own: messages by their words, conversations by their names, memories by what they mean."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from flask import Blueprint, Response

from conversation_reference_utils import canonical_reference
from database.engine.clock import now
from endpoints.http.errors import InvalidRequestError
from endpoints.http.responses import json_reply
from endpoints.http.scope import current_state, current_user_scope
from endpoints.http.validation import answers, asks
from endpoints.http.work_queues import Work, works
from endpoints.pkb.common import described_all, knowledge, unwrap
from search.conversations import autocomplete_conversations
from search.messages import Asking, FoundMessage, search_messages
from search.query import SearchQuery, conversation_name, parse_query
from search.ranking import snippet
from truth_management_system.interface.structured_api import KnowledgeError

from . import models as search_models

log = logging.getLogger(__name__)
blueprint = Blueprint("search", __name__)
_OF_A_KIND = 5
_LAST = 1_000
_NO_MEMORIES = "Memories could not be searched just now."
_ONLY_MESSAGES = "Filters are for messages: only those were looked for."


class _Page(NamedTuple):
    results: list[dict[str, Any]]
    next: str | None = None
    warnings: Sequence[str] = ()


@blueprint.get("/search")
@asks(search_models.Search)
@answers(search_models.SearchResults)
@works(Work.SEARCH)
def search(query: search_models.Search) -> Response:
    """Messages, conversations and memories that fit `q`; of all kinds together, the last two at most five each."""
    sought = parse_query(query.q).narrowed(
        conversation=conversation_name(query.conversation) if query.conversation else None,
        sender=query.sender,
        before=query.before,
        after=query.after,
    )
    pages = _of_all_kinds(query, sought) if query.kind == "all" else [_KINDS[query.kind](query, sought)]
    unread = [f"“{part}” is no filter that can be read: it was looked for as words." for part in sought.unread]
    return json_reply(
        {
            "results": [result for page in pages for result in page.results],
            "next": pages[-1].next,
            "warnings": unread + [warning for page in pages for warning in page.warnings],
        }
    )


def _of_all_kinds(query: search_models.Search, sought: SearchQuery) -> list[_Page]:
    """What has a name is few and comes on the first page alone; filters ask for messages."""
    messages = _messages(query, sought)
    if query.cursor is not None or sought.filters:
        return [messages]
    few = query.model_copy(update={"limit": min(_OF_A_KIND, query.limit)})
    return [_conversations(few, sought), _memories(few, sought), messages]


def _messages(query: search_models.Search, sought: SearchQuery) -> _Page:
    asking = Asking(text=query.q, today=now().date(), vectors=current_state().vectors)
    found = search_messages(
        **current_user_scope(), query=sought, limit=query.limit, cursor=query.cursor, mode=query.mode, asking=asking
    )
    return _Page([_message_result(hit) for hit in found.messages], found.next, found.warnings)


def _message_result(hit: FoundMessage) -> dict[str, Any]:
    message, name = hit.message, hit.conversation_friendly_id
    identifier = message.message_short_hash or message.index
    return {
        "kind": "message",
        "reference": canonical_reference(name, identifier) if name else None,
        "title": hit.conversation_title,
        "snippet": hit.snippet.text,
        "ranges": hit.snippet.ranges,
        "conversation_id": message.conversation_id,
        "conversation_friendly_id": name,
        "message_id": message.message_id,
        "message_index": message.index,
        "message_short_hash": message.message_short_hash,
        "sender": message.sender,
        "model": message.config.get("model"),
        "created_at": message.created_at,
    }


def _conversations(query: search_models.Search, sought: SearchQuery) -> _Page:
    if not sought.phrases or sought.filters:
        return _Page([], warnings=[_ONLY_MESSAGES] if sought.filters else [])
    begin, end = _range(query)
    hits = autocomplete_conversations(**current_user_scope(), q=sought.text, limit=end + 1)
    results = []
    for hit in hits[begin:end]:
        shown = snippet(hit["title"], sought.phrases, beginning=True)
        results.append(
            {
                "kind": "conversation",
                "reference": f"@conversation_{hit['friendly_id']}",
                "title": hit["title"],
                "snippet": shown.text,
                "ranges": shown.ranges,
                "conversation_id": hit["conversation_id"],
                "conversation_friendly_id": hit["friendly_id"],
                "last_updated": hit["last_updated"],
            }
        )
    return _Page(results, str(end) if len(hits) > end else None)


def _memories(query: search_models.Search, sought: SearchQuery) -> _Page:
    if not sought.phrases or sought.filters:
        return _Page([], warnings=[_ONLY_MESSAGES] if sought.filters else [])
    begin, end = _range(query)
    try:
        api = knowledge()
        found = api.search(sought.text, k=end + 1)
        claims = [result.claim for result in unwrap(found)]
        described = described_all(api, claims[begin:end])
    except KnowledgeError:
        log.warning("a search goes on without memories", exc_info=True)
        return _Page([], warnings=[_NO_MEMORIES])
    results = []
    for claim in described:
        shown = snippet(claim["statement"], sought.phrases, beginning=sought.beginning)
        results.append(
            {
                "kind": "memory",
                "reference": f"@{claim['friendly_id']}",
                "title": claim["friendly_id"],
                "snippet": shown.text,
                "ranges": shown.ranges,
                "claim": claim,
            }
        )
    # Where no model makes vectors, who asked for more than memories need not hear of it each time.
    warnings = found.warnings if query.kind == "memory" else ()
    return _Page(results, str(end) if len(claims) > end else None, warnings)


def _range(query: search_models.Search) -> tuple[int, int]:
    """Which results of what has a name: the cursor counts those that were shown."""
    cursor = query.cursor or "0"
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= len(str(_LAST)) and int(cursor) < _LAST):
        raise InvalidRequestError("The cursor is not one of a search.")
    return int(cursor), int(cursor) + query.limit


_KINDS = {"message": _messages, "conversation": _conversations, "memory": _memories}
