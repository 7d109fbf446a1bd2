"""Searching all messages of a user, the not yet indexed ones too.

Of very many hits the newest 5,000 take part; the newest and the shortest of those are read and ranked, 400 in all,
since a search has to answer within a blink, whatever is asked for. Each page says where more was found than that.
`search_query` reads what was typed, `search_ranking` compares texts.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, or_, select

from database.engine.database import Database
from database.engine.text import storable
from database.errors import InvalidChangeError
from database.messages.message import MessageRow, rows_numbered
from database.schema import conversations, messages

from . import index as fulltext_index
from .index import completions, expression_for, folded
from .query import SearchQuery
from .ranking import Snippet, best, holds, snippet

_HITS = 5_000
_LOOKED_AT = 100_000
_READ = 400
_TAIL = 5_000
_BINS = 200
_CURSOR = re.compile(r"(\d{1,6})-(\d{1,18})", re.ASCII)

# A length of the index is a number of words, and sorts as what it is stored as. Subqueries, not joins: SQLite with
# statistics would read all conversations first, to make a Bloom filter of them.
_CANDIDATES = """
    WITH hits AS MATERIALIZED ({hits}),
    chosen AS (
        SELECT rowid AS seq FROM (SELECT rowid FROM hits ORDER BY rowid DESC LIMIT :newest)
        UNION
        SELECT id FROM (
            SELECT size.id FROM hits JOIN messages_fts_docsize AS size ON size.id = hits.rowid
            ORDER BY size.sz LIMIT :shortest
        )
    )
    SELECT messages.seq, messages.text, (SELECT count(*) FROM hits) > (SELECT count(*) FROM chosen)
    FROM messages
    WHERE messages.seq IN (SELECT seq FROM chosen) AND messages.user_email = :user_email AND messages.deleted_at IS NULL
        AND (
            SELECT deleted_at IS NULL AND expires_at IS NULL FROM "UserToConversationId" AS conversations
            WHERE conversations.conversation_id = messages.conversation_id
        )
    ORDER BY messages.seq DESC
"""
_NEWEST_HITS = """
    SELECT rowid FROM messages_fts WHERE messages_fts MATCH :expression AND rowid <= :up_to
    ORDER BY rowid DESC LIMIT :looked_at
"""
# What is asked of a message beside its words stands in its activity too, which is read faster: it has no text.
_FILTERED_HITS = """
    SELECT found.rowid AS rowid FROM ({hits}) AS found JOIN activities ON activities.seq = found.rowid
    WHERE {conditions} ORDER BY found.rowid DESC LIMIT :hits
"""
# Walks through what is left out alone, never through all conversations: the index of the list has deleted
# conversations at the end of each domain.
_LEFT_OUT = """
    WITH RECURSIVE domains(name) AS (
        SELECT min(domain) FROM "UserToConversationId" WHERE user_email = :user_email
        UNION ALL
        SELECT (
            SELECT min(domain) FROM "UserToConversationId" WHERE user_email = :user_email AND domain > domains.name
        ) FROM domains WHERE domains.name IS NOT NULL
    )
    SELECT conversation_id FROM (
        SELECT conversation_id FROM "UserToConversationId" INDEXED BY "idx_UserToConversationId_temporary"
        WHERE user_email = :user_email AND expires_at IS NOT NULL LIMIT :most
    )
    UNION
    SELECT conversation_id FROM (
        SELECT conversation_id FROM "UserToConversationId" INDEXED BY "idx_UserToConversationId_list"
        WHERE user_email = :user_email AND domain IN (SELECT name FROM domains) AND deleted_at IS NOT NULL
        ORDER BY deleted_at DESC LIMIT :most
    )
"""
_CONDITIONS = {
    "actor": "activities.actor_type = :actor",
    "after": "activities.created_at >= :after",
    "before": "activities.created_at < :before",
}
_ACTORS = {"user": "user", "model": "assistant"}


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessage:
    """A message, the conversation it is in, and the piece of it that says what was sought."""

    message: MessageRow
    conversation_title: str
    conversation_friendly_id: str | None
    snippet: Snippet


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMessages:
    """One page, best first. `next`: the cursor of the following one, None after the last. `warnings`: sentences."""

    messages: list[FoundMessage]
    next: str | None
    warnings: list[str]


def search_messages(
    *, database: Database, user_email: str, query: SearchQuery, limit: int = 20, cursor: str | None = None
) -> FoundMessages:
    """The user's live messages that fit `query`, in archived conversations too, best first, then newest.

    Those of temporary conversations are not found, as no list shows them either. A query without words takes the
    newest; one without anything finds nothing. At most nine queries, whatever is found. What is said after the first
    page was asked for is on no later one. Raises InvalidChangeError for a cursor that we did not make.
    """
    skipped, up_to = _place(cursor)
    nothing = FoundMessages(messages=[], next=None, warnings=[])
    if not (query.phrases or query.filters):
        return nothing
    with database.reading() as connection:
        conversation_id = _conversation_id(connection, user_email, query.conversation)
        if query.conversation and conversation_id is None:
            return FoundMessages(messages=[], next=None, warnings=[f"There is no conversation “{query.conversation}”."])
        search = _Search(connection=connection, user_email=user_email, query=query, conversation_id=conversation_id)
        candidates, is_part = search.candidates(up_to)
        ranked = best(candidates, query.phrases)
        page = ranked[skipped : skipped + limit]
        more = len(ranked) > skipped + limit
        found = search.described(page)
    newest = up_to if cursor else max(ranked, default=0)
    return FoundMessages(
        messages=found,
        next=f"{skipped + limit}-{newest}" if more else None,
        warnings=["Not all of very many messages are listed."] if is_part else [],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """One search over one state of the store."""

    connection: Connection
    user_email: str
    query: SearchQuery
    conversation_id: str | None

    def candidates(self, up_to: int) -> tuple[list[tuple[int, str]], bool]:
        """(seq, folded text) of what is to be ranked, newest first; and whether more fits than that."""
        tail = self._unindexed(fulltext_index.indexed_seq(self.connection), up_to)
        indexed, is_part = self._indexed(up_to)
        return [*tail, *indexed], is_part or len(tail) == _TAIL

    def described(self, seqs: Sequence[int]) -> list[FoundMessage]:
        """What a client is shown of these, in this order."""
        rows = {row.seq: row for row in rows_numbered(self.connection, seqs)}
        c = conversations.c
        ids = {row.conversation_id for row in rows.values()}
        names = select(c.conversation_id, c.title, c.conversation_friendly_id).where(c.conversation_id.in_(ids))
        named = {row.conversation_id: row for row in self.connection.execute(names)}
        return [
            FoundMessage(
                message=row,
                conversation_title=named[row.conversation_id].title,
                conversation_friendly_id=named[row.conversation_id].conversation_friendly_id,
                snippet=snippet(row.text, self.query.phrases, beginning=self.query.beginning),
            )
            for row in (rows[seq] for seq in seqs)
        ]

    def _indexed(self, up_to: int) -> tuple[list[tuple[int, str]], bool]:
        expression = expression_for(
            user_email=self.user_email,
            conversation_id=self.conversation_id,
            phrases=self.query.phrases,
            beginning=self.query.beginning,
            completions=completions(self.connection, self.query.phrases[-1][-1]) if self.query.beginning else None,
            excluded=self.query.excluded,
            not_in=self._left_out(),
        )
        conditions = self._conditions()
        hits = _NEWEST_HITS
        if conditions:
            chosen = " AND ".join(_CONDITIONS[name] for name in conditions)
            hits = _FILTERED_HITS.format(hits=hits, conditions=chosen)
        # Without words there is nothing to rank by: the newest are the best.
        shortest = _READ // 2 if self.query.phrases else 0
        parameters: dict[str, Any] = {
            **conditions,
            "expression": expression,
            "user_email": self.user_email,
            "up_to": up_to,
            "looked_at": _LOOKED_AT if conditions else _HITS,
            "newest": _READ - shortest,
            "shortest": shortest,
        }
        if conditions:
            parameters["hits"] = _HITS
        rows = self.connection.exec_driver_sql(_CANDIDATES.format(hits=hits), parameters).all()
        return [(seq, folded(text)) for seq, text, _ in rows], any(is_part for *_, is_part in rows)

    def _unindexed(self, mark: int, up_to: int) -> list[tuple[int, str]]:
        m, query, c = messages.c, self.query, conversations.c
        listed = (
            select(c.deleted_at.is_(None) & c.expires_at.is_(None))
            .where(c.conversation_id == m.conversation_id)
            .correlate(messages)
            .scalar_subquery()
        )
        tail = (
            select(m.seq, m.text)
            .where(m.seq > mark, m.seq <= up_to, m.user_email == self.user_email, m.deleted_at.is_(None), listed)
            .order_by(m.seq.desc())
            .limit(_TAIL)
        )
        for column, compared, value in (
            (m.conversation_id, operator.eq, self.conversation_id),
            (m.sender, operator.eq, query.sender),
            (m.created_at, operator.ge, query.after),
            (m.created_at, operator.lt, query.before),
        ):
            tail = tail.where(compared(column, value)) if value is not None else tail
        return [
            (seq, folded(text))
            for seq, text in self.connection.execute(tail)
            if holds(text, query.phrases, beginning=query.beginning)
            and not any(holds(text, [phrase], beginning=False) for phrase in query.excluded)
        ]

    def _conditions(self) -> dict[str, str]:
        query = self.query
        given = {
            "actor": _ACTORS[query.sender] if query.sender is not None else None,
            "after": query.after,
            "before": query.before,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _left_out(self) -> list[str]:
        """Temporary conversations, and those thrown away last: their messages are not to crowd out others."""
        parameters = {"user_email": self.user_email, "most": _BINS}
        return list(self.connection.exec_driver_sql(_LEFT_OUT, parameters).scalars())


def _conversation_id(connection: Connection, user_email: str, name: str | None) -> str | None:
    if name is None:
        return None
    c = conversations.c
    named = or_(c.conversation_friendly_id == func.lower(storable(name)), c.conversation_id == storable(name))
    own = select(c.conversation_id).where(c.user_email == user_email, c.deleted_at.is_(None), c.expires_at.is_(None))
    found: str | None = connection.execute(own.where(named)).scalar()
    return found


def _place(cursor: str | None) -> tuple[int, int]:
    """How many hits come before a page, and the newest message that takes part."""
    if cursor is None:
        return 0, 2**62
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise InvalidChangeError("The cursor is not one of a search.")
    return int(match[1]), int(match[2])
