"""Memories as things that a search finds."""

from __future__ import annotations

import logging

from endpoints.pkb.common import described_all, knowledge, unwrap
from search.ranking import snippet
from search.things.kinds import Page, Wanted
from sentences import say
from truth_management_system.interface.structured_api import KnowledgeError

log = logging.getLogger(__name__)


class Memories:
    """Memories, by their words and by what they mean; of the person who asks the server."""

    takes_filters = False

    def search(self, wanted: Wanted) -> Page:
        """See `search.things.kinds.SearchableKind`."""
        begin, end = wanted.span()
        try:
            api = knowledge()
            found = api.search(wanted.query.written, k=end + 1)
            claims = [result.claim for result in unwrap(found)]
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
        warnings = found.warnings if wanted.is_only_kind else ()
        return Page(results=results, next=str(end) if len(claims) > end else None, warnings=warnings)
