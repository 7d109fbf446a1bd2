"""Memories as things that a search finds."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from endpoints.pkb.common import described_all, knowledge, unwrap
from search.query import SearchQuery
from search.ranking import holds, snippet
from search.things.kinds import Page, Wanted
from sentences import say
from truth_management_system import Claim, StructuredAPI
from truth_management_system.interface.structured_api import MOST_FOUND, KnowledgeError, is_near

log = logging.getLogger(__name__)


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
            claims, warnings = _found(api, wanted, most=end + 1)
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


def _found(api: StructuredAPI, wanted: Wanted, *, most: int) -> tuple[list[Claim], Sequence[str]]:
    """The memories that are meant, best first, and warnings.

    Quoted words are meant as they are. What is asked for by meaning is near it, or says some of it. The time of a
    memory is that of its last change.
    """
    query = wanted.query
    by_words = wanted.mode == "words" or (wanted.mode == "auto" and query.exact)
    by_meaning = wanted.mode == "meaning"
    # What does not fit is left out afterwards.
    most = MOST_FOUND if by_words or by_meaning or query.excluded else most
    when = {"updated_after": query.after, "updated_before": query.before}
    found = api.search(query.written, strategy="fts" if by_words else "hybrid", k=most, filters=when)
    claims = [result.claim for result in unwrap(found) if not by_meaning or is_near(result)]
    fitting = [each for each in claims if _fits(each, query, says_all=by_words)]
    return fitting, found.warnings


def _fits(claim: Claim, query: SearchQuery, *, says_all: bool) -> bool:
    """Whether a memory says nothing that is excluded and, where it has to, all words: a pasted name may be its own."""
    if any(holds(claim.statement, [phrase], beginning=False) for phrase in query.excluded):
        return False
    said = [claim.statement, *([claim.friendly_id] if query.name else [])]
    return not says_all or any(holds(text, query.phrases, beginning=query.beginning) for text in said)
