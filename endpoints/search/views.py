"""Finding anything of one's own: messages, conversations, memories and whatever else `search.things.kinds` names."""

from __future__ import annotations

from dataclasses import replace

from flask import Blueprint, Response

from database.engine.clock import now
from endpoints.http.responses import json_reply, warned
from endpoints.http.scope import current_state, current_user_scope
from endpoints.http.validation import answers, asks
from endpoints.serving.work_queues import Work, works
from search.messages import Asking
from search.query import conversation_name, parse_query
from search.things.kinds import KINDS, Page, SearchableKind, Wanted
from sentences import say

from . import models as search_models
from .documents import Documents
from .memories import Memories

blueprint = Blueprint("search", __name__)
_OF_A_KIND = 5
KINDS.setdefault("memory", Memories())
KINDS.setdefault("document", Documents())


@blueprint.get("/search")
@asks(search_models.Search)
@answers(search_models.SearchResults)
@works(Work.SEARCH)
def search(query: search_models.Search) -> Response:
    """Messages, conversations, memories, files and documents that fit `q`; of all, at most five each but messages."""
    sought = parse_query(query.q).narrowed(
        conversation=conversation_name(query.conversation) if query.conversation else None,
        sender=query.sender,
        before=query.before,
        after=query.after,
    )
    wanted = Wanted(
        **current_user_scope(),
        query=sought,
        asking=Asking(text=query.q, today=now().date(), vectors=current_state().vectors),
        mode=query.mode,
        limit=query.limit,
        cursor=query.cursor,
    )
    pages = _of_all_kinds(wanted) if query.kind == "all" else [_of_kind(KINDS[query.kind], wanted)]
    unread = [say("no_such_filter", filter=part) for part in sought.unread]
    return json_reply(
        {
            "results": [result for page in pages for result in page.results],
            "next": pages[-1].next,
            **warned([*unread, *(warning for page in pages for warning in page.warnings)]),
        }
    )


def _of_kind(kind: SearchableKind, wanted: Wanted) -> Page:
    if kind.takes_filters:
        return kind.search(wanted)
    if wanted.query.filters:
        return Page(warnings=[say("filters_for_messages")])
    return kind.search(wanted) if wanted.query.phrases else Page()


def _of_all_kinds(wanted: Wanted) -> list[Page]:
    """Of other kinds than messages a few, on the first page alone; the pages go on with messages."""
    messages = KINDS["message"].search(wanted)
    if wanted.cursor is not None:
        return [messages]
    few = replace(wanted, limit=min(_OF_A_KIND, wanted.limit), is_only_kind=False)
    others = (kind for name, kind in KINDS.items() if name != "message")
    fitting = (kind for kind in others if kind.takes_filters or not wanted.query.filters)
    return [*(_of_kind(kind, few) for kind in fitting), messages]
