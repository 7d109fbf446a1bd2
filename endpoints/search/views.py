"""Finding anything of one's own: messages, conversations, memories and whatever else `search.things.kinds` names."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flask import Blueprint

from database.engine.clock import now
from database.search.index import words
from endpoints.http.responses import warned
from endpoints.http.scope import current_state, current_user_scope
from endpoints.http.validation import answers, asks
from endpoints.pkb.common import described_all, knowledge, unwrap
from endpoints.serving.work_queues import Work, works
from search.language import is_spoken
from search.messages import Asking, is_enough
from search.query import SearchQuery, conversation_name, parse_query
from search.ranking import holds, snippet
from search.things.documents import FoundDocument, described_documents, documents_in_time, find_documents, has_documents
from search.things.kinds import KINDS, Page, SearchableKind, Wanted
from sentences import say
from truth_management_system import Claim, StructuredAPI
from truth_management_system.interface.structured_api import MOST_FOUND, KnowledgeError, is_near
from vault.content.wikilinks import link_to
from vault.errors import VaultUnavailableError

from . import models as search_models


class Memories:
    """Memories, by their words and by what they mean; of the person who asks the server."""

    takes_filters = True

    def search(self, wanted: Wanted) -> Page:
        """See `search.things.kinds.SearchableKind`."""
        begin, end = wanted.span()
        query = wanted.query
        if query.sender or query.conversation:  # those are of messages
            return Page(warnings=[say("filters_for_messages")] if wanted.is_only_kind else ())
        if not query.phrases:
            return Page()
        try:
            api = knowledge()
            claims, warnings = _found(api, wanted)
            described = described_all(api, claims[begin:end])
        except KnowledgeError:
            log.warning("a search goes on without memories", exc_info=True)
            return Page(warnings=[say("memories_not_searched")])
        results = []
        for claim in described:
            shown = snippet(claim["statement"], wanted.query.phrases, beginning=wanted.query.beginning)
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
        shown_warnings = warnings if wanted.is_only_kind else ()
        return Page(results=results, next=str(end) if len(claims) > end else None, warnings=shown_warnings)


def _found(api: StructuredAPI, wanted: Wanted) -> tuple[list[Claim], Sequence[str]]:
    """The memories that are meant, best first, and warnings.

    Quoted words are meant as they are. Whatever else is asked for, a memory says some of it or means something near it:
    the nearest of all may have nothing to do with it. The time of a memory is that of its last change.
    """
    query = wanted.query
    by_words = wanted.mode == "words" or (wanted.mode == "auto" and query.exact)
    when = {"updated_after": query.after, "updated_before": query.before}
    # What does not fit is left out afterwards.
    found = api.search(query.written, strategy="fts" if by_words else "hybrid", k=MOST_FOUND, filters=when)
    claims = [result.claim for result in unwrap(found) if is_near(result, query.written)]
    return [each for each in claims if _fits(each, query, says_all=by_words)], found.warnings


def _fits(claim: Claim, query: SearchQuery, *, says_all: bool) -> bool:
    """Whether a memory says nothing that is excluded and, where it has to, all words: a pasted name may be its own."""
    if any(holds(claim.statement, [phrase], beginning=False) for phrase in query.excluded):
        return False
    said = [claim.statement, *([claim.friendly_id] if query.name else [])]
    return not says_all or any(holds(text, query.phrases, beginning=query.beginning) for text in said)


log = logging.getLogger(__name__)


class Documents:
    """Documents, by their names and words, and by what they mean; of the person who asks the server."""

    takes_filters = True

    def search(self, wanted: Wanted) -> Page:
        """See `search.things.kinds.SearchableKind`."""
        begin, end = wanted.span()
        query = wanted.query
        own: dict[str, Any] = {"database": wanted.database, "user_email": wanted.user_email}
        if query.sender or query.conversation:  # a document has neither
            return Page(warnings=[say("filters_for_messages")] if wanted.is_only_kind else ())
        if not has_documents(**own):
            return Page()
        found = dict[str, str | None]()
        if wanted.mode != "meaning":
            found = find_documents(**own, query=query)
        warnings = list[str]()
        if self._asks_for_meaning(wanted, list(found)):
            meant = _meant(wanted, warnings, most=end + 1)
            fitting = documents_in_time(**own, paths=list(meant), query=query)
            found |= {path: text for path, text in meant.items() if path in fitting and path not in found}
        shown = dict(list(found.items())[begin:end])
        return Page(
            results=[_shown(each) for each in described_documents(**own, shown=shown, query=query)],
            next=str(end) if len(found) > end else None,
            # The search of messages says the same.
            warnings=warnings if wanted.is_only_kind else (),
        )

    @staticmethod
    def _asks_for_meaning(wanted: Wanted, found: list[str]) -> bool:
        query = wanted.query
        if wanted.mode == "words" or query.excluded or not query.phrases:
            return False
        return wanted.mode == "meaning" or not is_enough(query, found)


def _meant(wanted: Wanted, warnings: list[str], *, most: int) -> dict[str, str]:
    """The documents that answer what is asked, nearest first: by path, the part that does.

    Of keywords, those alone that mean something like them or say enough of them: all were looked for already.
    """
    meaning = wanted.asking.meaning(warnings)
    if meaning is None and wanted.asking.vectors.model() is not None:
        return {}  # the model does not answer: the vault is not to wait for it again
    query, typed = wanted.query, wanted.asking.text
    is_question = wanted.mode == "meaning" or is_spoken(query.text.split())
    keywords = None if is_question else query.phrases
    # With operators left out; the vector of a text that was typed without any is known by now.
    text = typed if words(typed) == query.text.split() else query.text
    try:
        vault = current_state().vaults.of(wanted.user_email)
        return {each.path: each.text for each in vault.find_documents(text, n=most, keywords=keywords)}
    except VaultUnavailableError:
        log.warning("a search goes on without the meaning of documents", exc_info=True)
        return {}


def _shown(found: FoundDocument) -> dict[str, Any]:
    return {
        "kind": "document",
        "reference": link_to(found.path),
        "title": found.title,
        "snippet": found.snippet.text,
        "ranges": found.snippet.ranges,
        "path": found.path,
        "modified": found.modified,
    }


blueprint = Blueprint("search", __name__)
_OF_A_KIND = 5
KINDS.setdefault("memory", Memories())
KINDS.setdefault("document", Documents())


@blueprint.get("/search")
@asks(search_models.Search)
@answers(search_models.SearchResults)
@works(Work.SEARCH)
def search(query: search_models.Search) -> object:
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
    return {
        "results": [result for page in pages for result in page.results],
        "next": pages[-1].next,
        **warned([*unread, *(warning for page in pages for warning in page.warnings)]),
    }


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
