"""Documents as things that a search finds."""

from __future__ import annotations

import logging
from typing import Any

from database.search.index import words
from endpoints.http.scope import current_state
from search.language import is_spoken
from search.messages import is_enough
from search.things.documents import FoundDocument, described_documents, documents_in_time, find_documents, has_documents
from search.things.kinds import Page, Wanted
from sentences import say
from vault.content.wikilinks import link_to
from vault.errors import VaultUnavailableError

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
