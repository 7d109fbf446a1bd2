"""The kinds of things that a search finds: each finds its own, and says what of each thing is shown and where it is.

A new kind is one object with the shape of `SearchableKind` and one line in `KINDS`; `GET /search` asks all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from conversation_reference_utils import canonical_reference
from database.engine.database import Database
from database.engine.errors import InvalidChangeError
from search.language import is_spoken
from search.messages import Asking, FoundMessage, Mode, search_messages
from search.query import SearchQuery
from search.ranking import snippet

from .conversations import ConversationSuggestion, conversations_called, conversations_meant
from .files import FoundFile, find_files, reference_to

_LAST = 1_000
_FEW = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a person looks for.

    query: words and operators. asking: the same as it was typed, with what a search by meaning takes. cursor: the
    `next` of the page before. is_only_kind: whether nothing but this kind of thing is looked for.
    """

    database: Database
    user_email: str
    query: SearchQuery
    asking: Asking
    mode: Mode = "auto"
    limit: int = 20
    cursor: str | None = None
    is_only_kind: bool = True

    def span(self) -> tuple[int, int]:
        """Which results of a list to show: the cursor counts those that were shown. Raises InvalidChangeError."""
        cursor = self.cursor or "0"
        if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= len(str(_LAST)) and int(cursor) < _LAST):
            raise InvalidChangeError("The cursor is not one of a search.")
        return int(cursor), int(cursor) + self.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of results, best first.

    results: each `{kind, reference, title, snippet, ranges, …}`, the further fields being those of the kind. next: the
    cursor of the following page; None: there is none. warnings: sentences for the person.
    """

    results: Sequence[dict[str, Any]] = ()
    next: str | None = None
    warnings: Sequence[str] = ()


class SearchableKind(Protocol):
    """What the search has to know of one kind of thing."""

    @property
    def takes_filters(self) -> bool:
        """Whether `search` itself heeds `sender:`, `in:`, `before:` and so on, as far as such things have them."""

    def search(self, wanted: Wanted) -> Page:
        """The person's own things that are meant. A kind without filters is given words, and no filters."""


class Conversations:
    """Conversations, by their names, and by what their titles and first messages mean."""

    takes_filters = False

    def search(self, wanted: Wanted) -> Page:
        """See `SearchableKind`."""
        begin, end = wanted.span()
        own: dict[str, Any] = {"database": wanted.database, "user_email": wanted.user_email}
        hits = conversations_called(**own, query=wanted.query, limit=end + 1)
        if wanted.mode == "meaning" or (wanted.mode == "auto" and self._asks_for_meaning(wanted, len(hits))):
            known = {hit["conversation_id"] for hit in hits}
            meant = conversations_meant(**own, asking=wanted.asking, limit=end + 1)
            hits += [hit for hit in meant if hit["conversation_id"] not in known]
        shown = [self._shown(hit, wanted.query) for hit in hits[begin:end]]
        return Page(results=shown, next=str(end) if len(hits) > end else None)

    @staticmethod
    def _asks_for_meaning(wanted: Wanted, hits: int) -> bool:
        said = wanted.query.text.split()
        return not wanted.query.exact and is_spoken(said) and hits < _FEW

    @staticmethod
    def _shown(hit: ConversationSuggestion, query: SearchQuery) -> dict[str, Any]:
        shown = snippet(hit["title"], query.phrases, beginning=True)
        return {
            "kind": "conversation",
            "reference": f"@conversation_{hit['friendly_id']}",
            "title": hit["title"],
            "snippet": shown.text,
            "ranges": shown.ranges,
            "conversation_id": hit["conversation_id"],
            "conversation_friendly_id": hit["friendly_id"],
            "last_updated": hit["last_updated"],
        }


class Messages:
    """Messages, by words and operators, and by what they mean."""

    takes_filters = True

    def search(self, wanted: Wanted) -> Page:
        """See `SearchableKind`."""
        found = search_messages(
            database=wanted.database,
            user_email=wanted.user_email,
            query=wanted.query,
            limit=wanted.limit,
            cursor=wanted.cursor,
            mode=wanted.mode,
            asking=wanted.asking,
        )
        return Page(results=[self._shown(hit) for hit in found.messages], next=found.next, warnings=found.warnings)

    @staticmethod
    def _shown(hit: FoundMessage) -> dict[str, Any]:
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
            "model": message.model,
            "created_at": message.created_at,
        }


class Files:
    """Files of messages, by their names, and by what their texts say and mean."""

    takes_filters = True

    def search(self, wanted: Wanted) -> Page:
        """See `SearchableKind`."""
        begin, end = wanted.span()
        found = find_files(
            database=wanted.database,
            user_email=wanted.user_email,
            query=wanted.query,
            most=end + 1,
            mode=wanted.mode,
            asking=wanted.asking,
        )
        return Page(
            results=[self._shown(hit) for hit in found.files[begin:end]],
            next=str(end) if len(found.files) > end else None,
            # The search of messages says the same.
            warnings=found.warnings if wanted.is_only_kind else (),
        )

    @staticmethod
    def _shown(hit: FoundFile) -> dict[str, Any]:
        use, page = hit.use, hit.passage.page if hit.passage is not None else None
        return {
            "kind": "file",
            "reference": reference_to(hit),
            "title": use.name,
            "snippet": hit.snippet.text,
            "ranges": hit.snippet.ranges,
            "attachment_id": use.attachment_id,
            "number": use.number,
            "page": page,
            "conversation_id": use.conversation_id,
            "conversation_title": use.conversation_title,
            "conversation_friendly_id": use.conversation_friendly_id,
            "message_id": use.message_id,
            "message_index": use.message_index,
            "message_short_hash": use.message_short_hash,
            "sender": use.sender,
            "created_at": use.created_at,
        }


KINDS: dict[str, SearchableKind] = {"conversation": Conversations(), "file": Files(), "message": Messages()}
"""Every kind by its name. A search of all kinds shows a few of each, in this order, and goes on with messages."""
